// NVENC's abilities, by libnvidia-encode.
#ifndef VIDFILTER_GPU_NVENC_H
#define VIDFILTER_GPU_NVENC_H

#include <libcuda.h>

// The API that FFmpeg uses, as NVENC counts versions: 0xc1 is 12.1.
extern const unsigned vf_encode_needs;

// Asks for the version that the driver knows. The result is an NVENCSTATUS, or 0.
int vf_encode_has(const struct vf_nvenc *l, unsigned *version);

// An encoder's limits for one codec.
struct vf_encode_caps {
	int supported, deep, full; // 10 bits, 4:4:4
	int engines;
	int min_width, min_height, width, height, macroblocks; // limits
};

// A session, which takes one of the driver's places for encoders.
struct vf_session;

// Opens a session in a context. The result is an NVENCSTATUS, or 0.
int vf_session_open(vf_encode_instance *instance, CUcontext context, struct vf_session **session);
int vf_session_caps(struct vf_session *session, const char *codec, struct vf_encode_caps *caps); // by FFmpeg's name of the codec
void vf_session_close(struct vf_session *session);

#endif
