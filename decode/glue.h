#ifndef VIDFILTER_DECODE_GLUE_H
#define VIDFILTER_DECODE_GLUE_H
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <stdint.h>

// Ends blocking calls on an input with AVERROR_EXIT.
struct vf_stop {
	int stop;
	AVFormatContext *fc;
	unsigned max_streams;
};

// Ends calls on fc after vf_interrupt, or when fc has max_streams. fc keeps stop, which must
// outlive it.
void vf_interruptible(AVFormatContext *fc, struct vf_stop *stop, unsigned max_streams);
void vf_interrupt(struct vf_stop *stop);

// Returns the static name of a file's container; NULL if it is unknown.
const char *vf_probe(const char *url, const char *protocols);

// Opens a MOV file with times by the first edit of each stream and without hidden packets, or
// returns NULL.
AVFormatContext *vf_open_unedited(const char *url, const char *protocols, struct vf_stop *stop);

// Sets up a decoder: frames in memory from vfTake(decoder) where vfWanted, a limit of pixels, exact
// cropping. The handle decoder must stay valid until the decoder is freed.
void vf_decoder_setup(AVCodecContext *c, AVRational timebase, int64_t max_pixels, uintptr_t decoder);
// A device that a decoder works on, and its parameters.
struct vf_on_device {
	AVBufferRef *device;
	int refused; // the decoder met a stream that the device does not decode, or another format or size
	enum AVPixelFormat format;
	int width, height; // coded, 0 before the first picture
	int delay;         // of a decoder that has just been opened
	enum AVColorTransferCharacteristic transfer;
};
// Makes a decoder work on a device, in a CUcontext and CUstream, or returns NULL and sets *err. The
// result must outlive the decoder.
struct vf_on_device *vf_decoder_on_device(AVCodecContext *c, void *context, void *stream, int *err);
void vf_device_free(struct vf_on_device *d);
// Records how a decoder begins; empties it for a while without a handle; and has it begin so again,
// for another handle.
void vf_decoder_opened(const AVCodecContext *c, struct vf_on_device *d);
void vf_decoder_rest(AVCodecContext *c);
void vf_decoder_again(AVCodecContext *c, const struct vf_on_device *d, uintptr_t decoder);
// A picture in the device's memory: its visible planes, as addresses and pitches.
struct vf_surface {
	uint64_t address[3];
	int pitch[3];
};
// Crops a picture on the device, and gives it the pixel format of its samples. Returns 0 for
// others.
int vf_surface_of(AVFrame *f, int format, struct vf_surface *s);
// Frees the samples of a picture, but not its properties.
void vf_strip(AVFrame *f);
// Fills p with a padded copy of data. The caller unreferences p.
int vf_packet(AVPacket *p, const void *data, size_t size, int64_t pts);
// Gives a packet and the frame decoded from it a number other than 0.
void vf_number(AVPacket *p, uintptr_t n);
uintptr_t vf_number_of(const AVFrame *f);
// Reports whether f is in memory from vfTake.
int vf_is_direct(const AVFrame *f);
// Reports whether a pixel format has that number of components beside alpha, of depth bits each:
// luma, or R, G and B.
int vf_has_components(int format, int components, int depth);

// Returns the root mean square of the quantiser steps of a picture's blocks, in 8-bit levels; 0 if
// unknown. Takes the table of blocks out of f.
float vf_quantiser(AVFrame *f);

// Returns freed memory to the system.
void vf_free_memory(void);

int vf_stopped(struct vf_stop *stop);
// Returns by how many degrees a player turns the picture clockwise.
double vf_rotation(const AVCodecParameters *par);
// Copies the display matrix of a stream, or else of a picture, if any. par may be NULL.
void vf_matrix(const AVCodecParameters *par, const AVFrame *f, int32_t m[9]);
// Replaces side data of a frame by the container's for all pictures. Returns a negative AVERROR if
// there is no memory.
int vf_add_stated(AVFrame *f, const AVCodecParameters *par);

// Names the first difference of two streams that affects decoding or filtering, or returns NULL.
const char *vf_differ(const AVStream *source, const AVStream *copy);
// Reads the field order out of coded pictures. The caller frees it by vf_fields_close.
struct vf_fields;
// NULL for codecs without it, or when out of memory.
struct vf_fields *vf_fields_open(const AVCodecParameters *par);
enum AVFieldOrder vf_fields_of(struct vf_fields *s, const AVPacket *p);
void vf_fields_close(struct vf_fields *s);

#endif
