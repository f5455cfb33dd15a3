// Shared by the C code of the CPU backend and the CUDA kernels: numbers of the options and
// constants of colour.
#ifndef VIDFILTER_COMMON_H
#define VIDFILTER_COMMON_H

enum { VF_MAX_RADIUS = 15 };

#include "layouts.h"

// As Distance, RangeWeight and Border of the Go side; a test compares them.
enum { VF_DIST_RGB, VF_DIST_CHANNEL, VF_DIST_LAB, VF_DIST_LUMA };
enum { VF_LORENTZIAN, VF_GAUSSIAN };
enum { VF_REFLECT, VF_CLAMP, VF_ZERO, VF_SKIP };

// The linear maps between samples and colours.
typedef struct {
	// R = y_gain Y + r_v V + r_0 and so on: from samples to colours of 0 to 1. See toWords in
	// color.go, which says in which order.
	float y_gain, r_v, g_u, g_v, b_u, r_0, g_0, b_0;
	// dY = y[0] dR + y[1] dG + y[2] dB: from changes of a colour to changes of samples. u and v
	// the same.
	float y[3], u[3], v[3];
	float luma[3];     // E of R, G, B, for the distance luma
	float xyz[9];      // linear R, G, B to X, Y, Z over white, for the distance lab
	float linear[256] __attribute__((aligned(8))); // linear light of each coded level
} vf_color;

#endif
