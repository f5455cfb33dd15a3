#ifndef VF_GRAIN_H
#define VF_GRAIN_H

#include <libavcodec/avcodec.h>
#include <libavutil/film_grain_params.h>

struct vf_grain;

// A picture of a temporal unit.
struct vf_picture {
	int hint;  // its place in the order of display, modulo 1 << the bits of hints
	int shown; // now, rather than later or never
};

// Reports whether a stream's pictures have grain parameters.
int vf_has_grain(const AVCodecParameters *par);

// Makes room for grain in the header that an open encoder of AV1 has. The caller frees the result.
int vf_grain_open(struct vf_grain **g, AVCodecContext *c);
void vf_grain_close(struct vf_grain *g);

// The bits of a hint, 0 for a stream without hints.
int vf_grain_hint_bits(const struct vf_grain *g);

// Takes a packet apart, and lists its pictures in list. Returns how many there are, or an error.
// Packets come in order, and each is read and written once.
int vf_grain_read(struct vf_grain *g, const AVPacket *p, struct vf_picture *list, int size);

// Sets the grain of picture i; NULL removes it.
void vf_grain_set(struct vf_grain *g, int i, const AVFilmGrainAOMParams *params, int seed);

// Puts the packet together again.
int vf_grain_write(struct vf_grain *g, AVPacket *p);

#endif
