// Shared by the forms: rounding, and for paper 003 pictures of one channel, "single spectrum images
// represented by single precision numbers for each pixel". A frame is split into such a picture,
// which is filtered, three times.
#ifndef VIDFILTER_CPUFORM_PLANES_H
#define VIDFILTER_CPUFORM_PLANES_H

#include <string.h>

#include "cpuform.h"

// level rounds a mean of 0 to 255 to nearest.
static inline uint8_t level(float x) { return (uint8_t)(x + 0.5f); }

// The picture has rows of width floats, followed by three zeros for vectors that read beyond the
// last column.
enum { VF_PLANE_SLACK = 3 };

static inline ptrdiff_t plane_pitch(const vf_form_job *j) { return j->width + VF_PLANE_SLACK; }
static inline size_t plane_size(const vf_form_job *j) { return (size_t)plane_pitch(j) * j->height; }
static inline size_t plane_memory(const vf_form_job *j) { return sizeof(float) * plane_size(j); }
static inline float *plane_row(const vf_form_job *j, int y) { return (float *)j->memory + y * plane_pitch(j); }

static inline int all_rows(const vf_form_job *j) { return j->height; }

// The pixels whose window lies inside the picture: inner_rows rows of inner_columns, starting at
// the radius. The others stay unchanged.
static inline int inner_columns(const vf_form_job *j)
{
	int w = j->width - 2 * j->radius, h = j->height - 2 * j->radius;
	return w > 0 && h > 0 ? w : 0;
}
static inline int inner_rows(const vf_form_job *j) { return inner_columns(j) > 0 ? j->height - 2 * j->radius : 0; }

// split makes row y of a channel's picture. For the first channel it also copies the row to the
// result, for the unchanged pixels.
static inline void split(const vf_form_job *j, int channel, int y)
{
	const uint8_t *from = j->src + y * j->src_pitch;
	if (channel == 0) memcpy(j->dst + y * j->dst_pitch, from, 4 * (size_t)j->width);
	float *to = plane_row(j, y);
	for (int x = 0; x < j->width; x++) to[x] = from[4 * x + channel];
	for (int x = 0; x < VF_PLANE_SLACK; x++) to[j->width + x] = 0;
}

// target is the address of a channel's result.
static inline uint8_t *target(const vf_form_job *j, int channel, int x, int y)
{
	return j->dst + y * j->dst_pitch + 4 * x + channel;
}

#endif
