// The interface between Go and the C sources of the papers' CPU forms (cpuform_*.c). A form
// filters one field or progressive frame of RGBA as its paper does: in steps, each of parts that
// may run in parallel, on any thread.
#ifndef VIDFILTER_CPUFORM_H
#define VIDFILTER_CPUFORM_H

#include <stddef.h>
#include <stdint.h>

#include "../../kernels/common.h"

enum {
	VF_FORM_ROW = 2 * VF_MAX_RADIUS + 2, // floats from one row of spatial weights to the next
	VF_FORM_STEPS = 5
};

// The frame and the options. Read-only while parts run.
typedef struct {
	const uint8_t *src; // R of the first pixel
	uint8_t *dst;
	ptrdiff_t src_pitch, dst_pitch; // bytes
	void *memory;                   // as large as the form requested, aligned to 8, uninitialized
	int width, height, radius;      // pixels
	float sigma_r;                  // clamped so that its square and that one's inverse are finite
	// Gs of dx and dy at (dy + radius) * VF_FORM_ROW + dx + radius; 0 beyond the window.
	float spatial[(2 * VF_MAX_RADIUS + 1) * VF_FORM_ROW];
} vf_form_job;

// A part writes no data that another part of the same step reads or writes, so results do not
// depend on their order.
typedef struct {
	int (*parts)(const vf_form_job *); // their number
	void (*run)(const vf_form_job *, int channel, int part);
} vf_form_step;

// The steps run in order, once for each channel: 3 where the paper filters pictures of one
// channel, else 1.
typedef struct {
	int channels;
	size_t (*memory)(const vf_form_job *); // bytes for the job's memory
	vf_form_step steps[VF_FORM_STEPS];     // unused ones at the end are empty
} vf_form;

extern const vf_form vf_form_sequential, vf_form_akers, vf_form_naive, vf_form_tiles, vf_form_simd, vf_form_reduction,
	vf_form_pair;

// For Go, which cannot call C function pointers.
size_t vf_form_memory(const vf_form *, const vf_form_job *);
int vf_form_parts(const vf_form *, const vf_form_job *, int step); // 0 for an unused step
void vf_form_run(const vf_form *, const vf_form_job *, int step, int channel, int part);

#endif
