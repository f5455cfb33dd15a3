// Interface between Go and the C code of the denoiser. Everything that a structure points to is
// memory of the C heap, so that Go can hand structures over without pinning anything.
#ifndef VIDFILTER_DENOISE_CPU_H
#define VIDFILTER_DENOISE_CPU_H

#include <stddef.h>
#include <stdint.h>

enum { VD_PLAIN, VD_AVX2, VD_AVX512 }; // as in internal/isa

enum {
	VD_PAD = 16,        // columns and rows beyond each edge that repeat it: the side of a search window
	VD_CELL = 16,       // side of a cell of the search
	VD_REFINED_CELL = 8, // and of the refinement
	VD_LEVELS = 16,     // of a pyramid
	VD_NEIGHBOURS = 32, // of a frame
	VD_REACH = 6,       // pels each way at the coarsest level
	VD_LENGTHS = 2 * VD_REACH * VD_REACH + 1,
	VD_SUM_BITS = 4,    // that samples have more than 8 in a sum, at the most
	VD_PAST = 4,        // sums of frames before the window
	VD_PILOT_BITS = 4,  // that the pilot has more than samples, of 16 at the most
	VD_SHARE_BITS = 8,  // of the part of a change that is made
};

// A plane of samples, of a byte each or, if they are deeper than 8 bits, of two. Beyond its edges
// there are VD_PAD samples more, alike the edge, and to the right twice as many, so that whole
// windows can be read from there.
typedef struct {
	void *at;        // the first sample; NULL where there is no plane
	ptrdiff_t pitch; // samples
	int width, height;
	int depth;       // bits of a sample
} vd_plane;

// A vector in half-pels; in the search, above the finest level, in pels.
typedef struct { int16_t x, y; } vd_vector;

// The search from one frame to a neighbour. See denoise/motion for the meaning of the numbers.
typedef struct {
	vd_plane from[VD_LEVELS], to[VD_LEVELS]; // of 8 bits, as all planes here
	vd_plane half[4];             // of to[0], by phase
	vd_vector *found[VD_LEVELS];  // of cells of VD_CELL; found[0] is the result, in half-pels
	int levels, penalty, refine;
	int length[VD_LENGTHS];
	vd_plane pilot;               // for the refinement
	vd_vector *refined;           // in half-pels; without found[0] from these vectors on
	int reach;                    // longer vectors need no refinement, as no patch will have them; 0: all do
} vd_search;

// A neighbour in a pass over one plane.
typedef struct {
	vd_plane between[2]; // itself, and half a pel to the right
	const vd_vector *field;
	int reach; // patches with longer vectors do without this frame; 0: no limit
} vd_neighbour;

// A sum of frames before the window, in a pass over one plane.
typedef struct {
	const uint16_t *at; // in noisy's pitch
	float count, level; // frames; a step of their mean, in 8-bit levels
} vd_past;

// Sums of weights and of weighted values for rows of a plane.
typedef struct {
	int32_t *weights, *values;
	ptrdiff_t pitch;
} vd_sums;

// The filter's changes in a picture of half the size, in sums of 2x2 samples.
typedef struct {
	int32_t *at;
	ptrdiff_t pitch;
	int width, height;
	int share; // of it that counts, times 1 << VD_SHARE_BITS
} vd_change;

// The unit of coefficients of 16 bits, and the way to it from differences of samples.
// Factors below 1 are in the unit of 1 << 15.
typedef struct {
	int enlarge;        // times a sample, and the pilot
	int lessen, reduce; // times a difference, and between the two transforms; 0 for 1
	float level;        // an 8-bit level in a coefficient
} vd_unit;

// A pass over one plane. Tables of coefficients are indexed by [u * n + v] for the frequency u
// across and v down: the transforms leave them so.
typedef struct {
	vd_plane noisy;
	const uint16_t *pilot; // for the second pass, in noisy's pitch
	vd_neighbour near[VD_NEIGHBOURS];
	int neighbours, shift_x, shift_y;
	int cell_shift, cells_x, cells_y; // of the fields; a cell is 1 << cell_shift
	int n, stride;

	float fade, frequency;       // -log2(e) / h, c
	float gate;                  // 1 to watch the mean and the slopes by themselves, or 0
	float level, pilot_level;    // a step of the samples, and of the pilot, in 8-bit levels
	float unit, limit;           // of weights; how far from the middle a value may be
	float threshold, fall, least, least_gain; // first pass
	float share;                 // second pass: of the variance left
	float blend, from, to;       // and of the pilot, by the variance left
	vd_past past[VD_PAST];       // second pass
	int pasts;
	const vd_vector *still;      // they are for patches whose vector here is past_reach at the most,
	int past_reach;
	float past_most;             // and where no more than this variance is left without them
	float variance[256], inverse[256], window[256];
	float unit_of[64], back[64]; // first pass: scales of the transform, in units of the noise, and back
	float curve[256], sigma;     // of the noise
	vd_unit own_unit, near_unit; // second pass: of the frame itself, and of its neighbours
	int16_t whiten[256];         // times a neighbour's coefficient: the same noise in all
	float white;                 // variance of that
	int clip;                    // count on less noise near white

	// The outputs of the means:
	vd_plane out;            // as samples of its depth; in the first of two passes of 8 bits, or NULL
	float rounding[64];      // added before a result is cut off to a sample, by the last bits of row and column
	uint16_t *pilot_out;     // rounded to more bits, in noisy's pitch: in the first of two passes
	float grain;             // share of the noisy samples in the result
} vd_pass;

// The search is compiled for bytes alone, all else for samples of both sizes.
#define VD_FUNCTIONS(isa) \
	void vd_load_##isa(vd_plane to, const uint8_t *from, ptrdiff_t pitch, int step, int shift, int width, int height); \
	void vd_save_##isa(uint8_t *to, ptrdiff_t pitch, int step, int size, int shift, vd_plane from, int width, int height); \
	void vd_pad_##isa(vd_plane p); \
	void vd_smooth_##isa(vd_plane to, vd_plane from, int coarse, int y0, int y1); \
	void vd_right_##isa(vd_plane to, vd_plane from, int y0, int y1); \
	void vd_sum_##isa(uint16_t *to, vd_plane from, int fresh, int y0, int y1); \
	void vd_down_##isa(vd_plane to, vd_plane from, int y0, int y1); \
	void vd_shrink_##isa(vd_plane to, vd_plane from, int y0, int y1); \
	void vd_difference_##isa(vd_change c, vd_plane of, vd_plane half, int y0, int y1); \
	void vd_apply_##isa(vd_plane p, vd_change c, int y0, int y1); \
	void vd_fuse_##isa(const vd_pass *p, vd_sums s, int top, int y); \
	void vd_finish_##isa(const vd_pass *p, vd_sums s, int top, int y0, int y1);
#define VD_ISA_FUNCTIONS(isa) \
	VD_FUNCTIONS(isa##_8) \
	VD_FUNCTIONS(isa##_16) \
	void vd_halve_##isa##_8(vd_plane to, vd_plane from, int y0, int y1); \
	void vd_find_##isa##_8(const vd_search *s, int level, int y0, int y1); \
	void vd_refine_##isa##_8(const vd_search *s, int y0, int y1); \
	int64_t vd_misfit_##isa##_8(const vd_search *s, int y0, int y1);
VD_ISA_FUNCTIONS(plain)
VD_ISA_FUNCTIONS(avx2)
VD_ISA_FUNCTIONS(avx512)
#undef VD_ISA_FUNCTIONS
#undef VD_FUNCTIONS

// vd_load copies samples that are step bytes apart, shifted in their two bytes, and makes the plane
// as large as it is by repeating the edges. Values above the depth become the largest sample.
// vd_save writes the part of a plane that there is room for, to samples of size bytes. vd_pad sets
// the samples beyond the edges.
void vd_load(int isa, vd_plane to, const uint8_t *from, ptrdiff_t pitch, int step, int shift, int width, int height);
void vd_save(int isa, uint8_t *to, ptrdiff_t pitch, int step, int size, int shift, vd_plane from, int width, int height);
void vd_pad(int isa, vd_plane p);

// The planes of rows y0 <= y < y1: smoothed, of 8 bits; half as large, also of 8 bits; half a pel
// to the right, and down.
void vd_smooth(int isa, vd_plane to, vd_plane from, int coarse, int y0, int y1);
void vd_halve(int isa, vd_plane to, vd_plane from, int y0, int y1);
void vd_right(int isa, vd_plane to, vd_plane from, int y0, int y1);
void vd_down(int isa, vd_plane to, vd_plane from, int y0, int y1);

// vd_sum adds rows y0 <= y < y1 to a sum in the pitch of the plane, or puts them there if it is
// fresh. Samples of more than 12 bits are rounded to that.
void vd_sum(int isa, uint16_t *to, vd_plane from, int fresh, int y0, int y1);

// Rows of cells: vd_find sets the vectors at one level, after the next coarser one; vd_refine sets
// the refined ones; vd_misfit is the sum over the cells of found[0] of the differences.
void vd_find(int isa, const vd_search *s, int level, int y0, int y1);
void vd_refine(int isa, const vd_search *s, int y0, int y1);
int64_t vd_misfit(int isa, const vd_search *s, int y0, int y1);

// vd_set_scales sets the units of a first pass by its noise, vd_set_units the units of a second
// pass.
void vd_set_scales(vd_pass *p);
void vd_set_units(vd_pass *p);

// vd_fuse adds the patches whose first row is y to sums whose first row is row top of the plane.
// vd_finish makes of sums the rows y0 <= y < y1 of the result.
void vd_fuse(int isa, const vd_pass *p, vd_sums s, int top, int y);
void vd_finish(int isa, const vd_pass *p, vd_sums s, int top, int y0, int y1);

// Rows of pictures of half the size: vd_shrink makes them, of two bytes a sample; vd_difference
// sets the changes that give a picture half as its half; vd_apply changes it.
void vd_shrink(int isa, vd_plane to, vd_plane from, int y0, int y1);
void vd_difference(int isa, vd_change c, vd_plane of, vd_plane half, int y0, int y1);
void vd_apply(int isa, vd_plane p, vd_change c, int y0, int y1);

// vd_deepen copies rows y0 <= y < y1 of a plane to one of as many bits or more.
void vd_deepen(vd_plane to, vd_plane from, int y0, int y1);

// vd_clear clears rows y0 <= y < y1 of sums, vd_copy copies rows of sums, vd_add adds them.
void vd_clear(vd_sums s, int width, int y0, int y1);
void vd_copy(vd_sums to, vd_sums from, int width, int rows);
void vd_add(vd_sums to, vd_sums from, int width, int rows);

void *vd_alloc(size_t size); // aligned to 64, or NULL
void vd_free(void *);

#endif
