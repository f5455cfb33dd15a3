#ifndef VIDFILTER_DECODE_AV1_H
#define VIDFILTER_DECODE_AV1_H

#include <libavcodec/avcodec.h>

// Reads the quantiser of pictures of AV1, of which the decoder says nothing.
struct vf_av1;

// Returns NULL if the stream is another codec's, or out of memory. The caller frees the result.
struct vf_av1 *vf_av1_open(const AVCodecParameters *par);
void vf_av1_close(struct vf_av1 *a);

// Returns the step of the picture that a packet shows, as vf_quantiser does; 0 if it is damaged.
// Packets come in order.
float vf_av1_step(struct vf_av1 *a, const AVPacket *p);

#endif
