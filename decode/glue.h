#ifndef VIDFILTER_DECODE_GLUE_H
#define VIDFILTER_DECODE_GLUE_H
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <stdint.h>

// Blocking calls on fc give up with AVERROR_EXIT once *stop is not 0.
void vf_interruptible(AVFormatContext *fc, int *stop);
void vf_interrupt(int *stop);

// Names the container of a file without opening it; NULL when it is not recognised.
const char *vf_probe(const char *url, const char *protocols);

// Readies a decoder: frames in memory from vfTake(pool), a limit of pixels, exact cropping.
void vf_decoder_setup(AVCodecContext *c, AVRational timebase, int64_t max_pixels, uintptr_t pool);
// Fills p with a copy of data that decoders may read past the end of, as they do.
int vf_packet(AVPacket *p, const void *data, size_t size, int64_t pts);
// Whether f lies in memory that vfTake gave.
int vf_is_direct(const AVFrame *f);

int vf_stopped(int *stop);
// Degrees clockwise that a player turns the picture by.
double vf_rotation(const AVCodecParameters *par);
const char *vf_field_order(enum AVFieldOrder order);

// The first thing in which two streams differ that decoding or filtering goes by; NULL when there is none.
const char *vf_differ(const AVStream *source, const AVStream *copy);
#endif
