#ifndef VIDFILTER_DECODE_STEP_H
#define VIDFILTER_DECODE_STEP_H

#include <libavcodec/avcodec.h>

// Reads quantisers out of the headers of pictures of AV1, HEVC, VP9 and JPEG, which decoders do not
// return, or only on the CPU.
struct vf_steps;

// Returns NULL if the decoder's codec is another, or out of memory. The caller frees the result.
struct vf_steps *vf_steps_open(const AVCodecContext *c);
void vf_steps_close(struct vf_steps *s);

// Returns the step of the picture that a packet shows, as vf_quantiser does; 0 if it is damaged.
// Packets come in order.
float vf_step(struct vf_steps *s, const AVPacket *p);

// Reports whether a codec keeps noise as it was: it is lossless, or codes each picture alone.
int vf_is_faithful(enum AVCodecID codec);

#endif
