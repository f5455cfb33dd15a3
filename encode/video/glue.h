#ifndef VIDFILTER_VIDEO_GLUE_H
#define VIDFILTER_VIDEO_GLUE_H
#include <libavcodec/avcodec.h>
#include <stdint.h>
#include <x265.h>

// Functions return 0 or more, or a negative AVERROR, unless stated otherwise.

// Copies samples and properties of a frame to one that is as large or larger, in planes of the same
// format, and repeats those at the right and at the bottom.
int vf_pad(AVFrame *dst, const AVFrame *src);
// A picture in a device's memory: its planes, as addresses and pitches.
struct vf_surface {
	uint64_t address[3];
	int pitch[3];
};
// Has an encoder that is not open yet take pictures of the pixel format, in planes or with pairs
// of chroma, as surfaces in a CUcontext, in order with a CUstream. Its field opaque is then its
// address.
int vf_encoder_on_device(AVCodecContext *c, void *context, void *stream, int format);
// Gives f, which is empty, a surface of the encoder's.
int vf_encoder_surface(AVCodecContext *c, AVFrame *f, struct vf_surface *s);

// Has x264 parse one parameter: 0 accepted, 1 accepted but would open a file, -1 unknown name,
// below -1 invalid value.
int vf_x264_param(const char *name, const char *value);
// The instruction sets of this processor as x264's flags, but AVX-512: see x264CPU.
int vf_x264_cpu(void);
// Has x265 parse one parameter: 0 accepted, or X265_PARAM_BAD_NAME or X265_PARAM_BAD_VALUE.
int vf_x265_param(const char *name, const char *value);

#endif
