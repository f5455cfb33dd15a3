#ifndef VIDFILTER_AV_GLUE_H
#define VIDFILTER_AV_GLUE_H
#include <libavformat/avformat.h>
#include <libavutil/frame.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
#include <stdint.h>

typedef struct {
	int depth, rgb, gray, alpha, log2w, log2h;
} vf_pixdesc;
int vf_describe(int pix_fmt, vf_pixdesc *out);

// A new frame with src's properties and none of its samples; NULL when out of memory.
AVFrame *vf_props(const AVFrame *src);

// A frame over memory that Go owns: vfRelease(handle) runs when FFmpeg's last reference is gone.
AVFrame *vf_wrap(int pix_fmt, int width, int height, uint8_t *const data[4], const int pitch[4],
                 const int rows[4], uintptr_t handle);

typedef struct {
	struct SwsContext *sws;
	int src_fmt, src_w, src_h, src_space, src_full;
	int dst_fmt, dst_w, dst_h, dst_space, dst_full;
} vf_scaler;
int vf_scale(vf_scaler *s, const AVFrame *src, int src_space, int src_full, uint8_t *const dst[4],
             const int pitch[4], int fmt, int w, int h, int space, int full);

void vf_log_start(int level);
#endif
