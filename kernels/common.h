// What the C code of the CPU backend and the CUDA kernels share: the options' numbers and the constants of colour.
#ifndef VIDFILTER_COMMON_H
#define VIDFILTER_COMMON_H

enum { VF_MAX_RADIUS = 15 };

// As pipeline.Layout, Distance, RangeWeight and Border of the Go side; a test compares them.
enum { VF_YUV420P = 1, VF_YUV422P, VF_YUV444P, VF_NV12, VF_RGBA };
enum { VF_DIST_RGB, VF_DIST_CHANNEL, VF_DIST_LAB, VF_DIST_LUMA };
enum { VF_LORENTZIAN, VF_GAUSSIAN };
enum { VF_REFLECT, VF_CLAMP, VF_ZERO, VF_SKIP };

// The linear maps between samples and colours of 0 to 255. The constants are a hair larger than the formulas' (tieUp in
// cpu_job.go), so that what is a tie rounds up.
typedef struct {
	// R = y_gain Y + r_v V + r_0 and so on: from samples to colours of 0 to 255.
	float y_gain, r_v, g_u, g_v, b_u, r_0, g_0, b_0;
	// Y = y[0] R + y[1] G + y[2] B + y[3]: back again. u and v the same.
	float y[4], u[4], v[4];
	float luma[3];     // E of R, G, B, for the distance luma
	float xyz[9];      // linear R, G, B to X, Y, Z over white, for the distance lab
	float linear[256]; // linear light of each coded level
} vf_color;

#endif
