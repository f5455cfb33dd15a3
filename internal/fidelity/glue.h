#ifndef VIDFILTER_FIDELITY_GLUE_H
#define VIDFILTER_FIDELITY_GLUE_H
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/display.h>
#include <libavutil/dovi_meta.h>
#include <libavutil/frame.h>
#include <libavutil/mastering_display_metadata.h>
#include <libavutil/pixdesc.h>
#include <libavutil/stereo3d.h>

// Returns a frame with f's properties, format and size and without samples, which the caller frees;
// NULL when out of memory.
AVFrame *vf_describing(const AVFrame *f);

// Makes a format context with one stream, and a frame, for the caller to free. Returns a negative
// AVERROR if there is no memory, and leaves no allocation.
int vf_blank(AVFormatContext **fc, AVFrame **f);

// Returns 0 for a progressive picture, 1 for one whose top field is first, 2 for any other.
int vf_order(const AVFrame *f);

// Returns whether two pictures have the same colours and all other properties that a stream or a
// container states once, beside their aspect and rotation.
int vf_says_the_same(const AVFrame *a, const AVFrame *b);

// Decodes packets of a stream, until the first frame or all of them, and adds to the counts of
// vf_order. *dec, NULL at first, is the caller's, and *f the first frame, without samples, once
// there is one. Returns a negative AVERROR if there will be no more.
int vf_decode(AVCodecContext **dec, const AVStream *st, const AVPacket *p, int first, AVFrame **f, int64_t orders[3]);
#endif
