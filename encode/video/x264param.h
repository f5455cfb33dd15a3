#ifndef VIDFILTER_ENCODE_X264PARAM_H
#define VIDFILTER_ENCODE_X264PARAM_H
// Has x264 parse one parameter: 0 accepted, 1 accepted but would open a file, -1 unknown name,
// below -1 invalid value.
int vf_x264_param(const char *name, const char *value);
// The instruction sets of this processor as x264's flags, but AVX-512: see x264CPU.
int vf_x264_cpu(void);
#endif
