// Interface between Go and the C code of the deinterlacer. Planes are on the C heap.
#ifndef VIDFILTER_INTERLACE_CPU_H
#define VIDFILTER_INTERLACE_CPU_H

#include <stddef.h>
#include <stdint.h>

enum { VI_PLAIN, VI_AVX2, VI_AVX512 }; // as in internal/isa

enum {
	VI_PAD = 16,        // padding of a plane on each side, in samples, and twice that on the right
	VI_NEIGHBOURS = 4,
	VI_PASSES = 2,
	VI_CLASSES = 27 * 256,
	VI_CODES = 256,
	VI_WEIGHTS = 14,
	VI_WEIGHT_BITS = 12, // a learned weight is a multiple of 1 / (1 << VI_WEIGHT_BITS)
};

// A plane, the same as Plane in denoise/cpu. A sample is one byte, or two above 8 bits.
typedef struct {
	void *at;        // the first sample
	ptrdiff_t pitch; // samples
	int width, height, depth;
} vi_plane;

// Location of a component in a frame: pitch and step are the distances between rows and samples in
// bytes. Samples of two bytes are shifted left by shift bits.
typedef struct {
	ptrdiff_t pitch;
	int step, shift;
} vi_place;

// interlace.Net.
enum { VI_REACH = 3, VI_WIDTH = 2 * VI_REACH + 1, VI_SUMS = 2 * VI_WIDTH + 3, VI_FLAT = 2, VI_PAIRS = 4, VI_GATES = 3 };
typedef struct {
	float flat[VI_FLAT][VI_SUMS], flat_bias[VI_FLAT];
	float pair[VI_PAIRS][VI_WIDTH], centre[VI_PAIRS][2], outer[VI_PAIRS][3];
	float gate[VI_GATES][VI_FLAT + VI_PAIRS], gate_bias[VI_GATES];
	float filter[VI_GATES][VI_SUMS];
	float mean, bias;
} vi_net;

typedef struct { int16_t x, y; } vi_vector; // in half-pels

// The learned weights of a pass, from interlace.Tables.
typedef struct {
	uint8_t code_of[VI_CLASSES];
	float codes[VI_CODES][VI_WEIGHTS];
	int16_t whole[VI_CODES][VI_WEIGHTS + 2]; // the base's weight, then the others, the last one twice
} vi_weights;
extern struct vi_learned {
	vi_net net;
	vi_weights pass[VI_PASSES];
} vi_learned;

// A neighbour of the field, or its stand-in.
typedef struct {
	vi_plane half[4];        // its estimate and the half-pel planes, by phase
	const vi_vector *field;  // vectors to it, by cell
	int parity;              // of its own rows
	int there;               // 0: it is a stand-in
} vi_neighbour;

// A pass over a component.
typedef struct {
	vi_plane now, out;       // the estimates before and after the pass
	int parity;
	vi_neighbour to[VI_NEIGHBOURS]; // before, after, two before, two after
	int cell_shift, cells_x, cells_y; // of the vector fields; a cell is 1 << cell_shift luma samples
	int shift_x, shift_y;    // log2 of the subsampling
	const vi_weights *learned;
} vi_pass;

#define VI_FUNCTIONS(isa) \
	void vi_load_##isa(vi_plane to, const uint8_t *from, vi_place place, int y0, int y1); \
	void vi_save_##isa(uint8_t *to, vi_place place, vi_plane from, int y0, int y1); \
	void vi_estimate_##isa(vi_plane to, vi_plane lines, int parity, const vi_net *net, int y0, int y1); \
	void vi_blend_##isa(const vi_pass *p, int y0, int y1);
VI_FUNCTIONS(plain_8)
VI_FUNCTIONS(plain_16)
VI_FUNCTIONS(avx2_8)
VI_FUNCTIONS(avx2_16)
VI_FUNCTIONS(avx512_8)
VI_FUNCTIONS(avx512_16)
#undef VI_FUNCTIONS

// vi_load copies rows y0 <= y < y1 of a component to a plane. It clamps samples to the depth.
// vi_save copies rows back.
void vi_load(int isa, vi_plane to, const uint8_t *from, vi_place place, int y0, int y1);
void vi_save(int isa, uint8_t *to, vi_place place, vi_plane from, int y0, int y1);

// vi_estimate computes rows y0 <= y < y1 of the first estimate of a field from its own rows, lines.
void vi_estimate(int isa, vi_plane to, vi_plane lines, int parity, const vi_net *net, int y0, int y1);

// vi_blend computes rows y0 <= y < y1 of the next estimate. y0 must be a multiple of 4, and y1 a
// multiple of 4 or the height.
void vi_blend(int isa, const vi_pass *p, int y0, int y1);

#endif
