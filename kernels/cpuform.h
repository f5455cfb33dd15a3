// What Go and the C sources of the CPU forms of the papers (cpuform_*.c) know of each other. A form filters one field or
// progressive frame of RGBA as its paper does: in steps, each of parts that may run at the same time, on whatever thread.
#ifndef VIDFILTER_CPUFORM_H
#define VIDFILTER_CPUFORM_H

#include <stddef.h>
#include <stdint.h>

#include "common.h"

enum {
	VF_FORM_ROW = 2 * VF_MAX_RADIUS + 2, // floats from one row of spatial weights to the next
	VF_FORM_STEPS = 5
};

// The frame and how it is filtered; read only while parts run.
typedef struct {
	const uint8_t *src; // R of the first pixel
	uint8_t *dst;
	ptrdiff_t src_pitch, dst_pitch; // bytes
	void *memory;                   // as many bytes as the form asked for, aligned to 8; what is in them is not known
	int width, height, radius;      // pixels
	float sigma_r;                  // so clamped that neither its square nor the square's inverse leaves float32
	// Gs of dx and dy at (dy + radius) * VF_FORM_ROW + dx + radius; 0 beyond the window.
	float spatial[(2 * VF_MAX_RADIUS + 1) * VF_FORM_ROW];
} vf_form_job;

// Parts of a step write nothing that another part of it reads or writes, so results do not depend on their order.
typedef struct {
	int (*parts)(const vf_form_job *); // how many there are
	void (*run)(const vf_form_job *, int channel, int part);
} vf_form_step;

// The steps are taken in order, once for each of the channels: 3 where the paper filters pictures of one channel, else 1.
typedef struct {
	int channels;
	size_t (*memory)(const vf_form_job *); // how many bytes the job's memory is to have
	vf_form_step steps[VF_FORM_STEPS];     // the last ones empty
} vf_form;

extern const vf_form vf_form_sequential, vf_form_akers, vf_form_naive, vf_form_tiles, vf_form_simd, vf_form_reduction,
	vf_form_pair;

// Go calls no function by its address.
size_t vf_form_memory(const vf_form *, const vf_form_job *);
int vf_form_parts(const vf_form *, const vf_form_job *, int step); // 0 for a step that is not there
void vf_form_run(const vf_form *, const vf_form_job *, int step, int channel, int part);

#endif
