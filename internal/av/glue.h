#ifndef VIDFILTER_AV_GLUE_H
#define VIDFILTER_AV_GLUE_H
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/frame.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
#include <stdint.h>

typedef struct {
	int depth, rgb, gray, alpha, log2w, log2h;
} vf_pixdesc;
int vf_describe(int pix_fmt, vf_pixdesc *out);

// Returns 1 if the process can get little more memory, 2 if it can start few more threads, else 0.
int vf_short_of(void);

// Returns a new frame with src's properties and without samples, which the caller frees; NULL when
// out of memory.
AVFrame *vf_props(const AVFrame *src);

// vf_set_fields sets the flags of fields, and the older ones that filters take for them.
void vf_set_fields(AVFrame *f, int interlaced, int top_first);

// Reads a packet's place in the index of a stream. Returns 0 if there is no such number.
int vf_index_entry(AVStream *st, int number, int64_t *pos, int64_t *time, int *hidden);

// Replaces par's extradata with a copy of data; par's owner frees it.
int vf_set_extradata(AVCodecParameters *par, const uint8_t *data, int size);

// Returns a frame, which the caller frees, over memory of the frame behind handle.
// vfRelease(handle) runs once: when the last reference is gone, on any thread, or, if this returns
// NULL, before it returns.
AVFrame *vf_wrap(int pix_fmt, int width, int height, uint8_t *const data[4], const int pitch[4],
                 const int rows[4], uintptr_t handle);

typedef struct {
	uint8_t *data[4];
	int pitch[4];
	int format;
} vf_samples;

// Copies samples from src, w x h pixels in planes of the same kind with samples of another depth.
// Luma of full range and RGB keep the ends of the range, others are shifted. rounding is added
// where bits are lost, in steps of dst, by the last three bits of column and row in a field.
void vf_requantise(const vf_samples *dst, const vf_samples *src, int w, int h, int full, int fields,
                   const float rounding[64]);

// Turns a gray picture into one of fmt, of the same depth with planes of chroma, without colour.
int vf_colourless(AVFrame *f, int fmt);

// Sets *alpha to the alpha of src as a gray picture of w by h, which the caller frees, or to NULL
// if gray cannot hold it.
int vf_alpha(const AVFrame *src, int w, int h, AVFrame **alpha);
// Returns the top or bottom rows of alpha, and the mean of the two around each of the other rows.
AVFrame *vf_alpha_of_field(const AVFrame *alpha, int bottom);
// Sets the alpha of f, which has pixel format fmt or lacks but the plane of alpha, to the samples
// of a gray picture of its size, at the depth of fmt; opaque for NULL.
int vf_set_alpha(AVFrame *f, int fmt, const AVFrame *alpha);

typedef struct {
	struct SwsContext *sws;
	int src_fmt, src_w, src_h, src_space, src_full;
	int dst_fmt, dst_w, dst_h, dst_space, dst_full;
} vf_scaler;
// Fills dst, which stays the caller's. s owns its context, which sws_freeContext frees.
int vf_scale(vf_scaler *s, const AVFrame *src, int src_space, int src_full, uint8_t *const dst[4],
             const int pitch[4], int fmt, int w, int h, int space, int full);

// Copies a component to samples of one byte or two, lowest first. Returns 0 when out of memory.
int vf_copy_component(const AVFrame *f, int component, uint8_t *to, ptrdiff_t pitch);

// Returns whether packets have transparency beside the pictures.
int vf_has_alpha_mode(const AVStream *st);
// Returns whether only a part of a frame is to be shown, away from the middle.
int vf_moves_picture(const AVFrame *f);
// Returns whether a sample of a frame is not opaque.
int vf_transparent(const AVFrame *f);

// Sets up to which level lines of the log go to vfLog, and returns the level before.
int vf_log_start(int level);
// Sends errors and warnings to vfLogOwned, whatever the level of vf_log_start.
void vf_log_watch(void);

enum { VF_COMPLAINT = 1024 };
// Writes the first error that FFmpeg logs on this thread to complaint, of VF_COMPLAINT bytes and
// empty so far, and keeps all of them out of the log; until it is called with NULL.
void vf_listen(char *complaint);

typedef struct {
	unsigned width, height;
} vf_size;
// Returns the last size that FFmpeg refused on this thread since the previous call, or 0.
vf_size vf_refused(void);
#endif
