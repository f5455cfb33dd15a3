// Shared by the C code of the CPU backend and the CUDA kernels: numbers of the options and
// constants of colour.
#ifndef VIDFILTER_COMMON_H
#define VIDFILTER_COMMON_H

enum { VF_MAX_RADIUS = 15 };

#include "layouts.h"

// As RangeWeight and Border of the Go side; a test compares them.
enum { VF_LORENTZIAN, VF_GAUSSIAN };
enum { VF_REFLECT, VF_CLAMP };

// The linear maps between samples and colours.
typedef struct {
	// R = y_gain Y + r_v V + r_0 and so on: from samples to colours of 0 to 1. toWords in
	// color.go defines the order.
	float y_gain, r_v, g_u, g_v, b_u, r_0, g_0, b_0;
	// dY = y[0] dR + y[1] dG + y[2] dB: from changes of a colour to changes of samples. u and v
	// the same.
	float y[3], u[3], v[3];
} vf_color;

#endif
