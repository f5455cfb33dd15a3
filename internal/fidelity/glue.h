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

// Decodes packets of a stream until the first frame. *dec, NULL at first, is the caller's, and *f
// the frame, without samples, once there is one. Returns a negative AVERROR if there will be none.
int vf_decode_first(AVCodecContext **dec, const AVStream *st, const AVPacket *p, AVFrame **f);
#endif
