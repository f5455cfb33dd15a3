#ifndef VIDFILTER_SIDE_H
#define VIDFILTER_SIDE_H
#include <libavcodec/avcodec.h>
#include <stdint.h>

// Gives a packet HDR10+ metadata, read from T.35 behind its codes: 0, or a negative AVERROR.
int vf_hdr10plus(AVPacket *p, const uint8_t *t35, size_t size);

#endif
