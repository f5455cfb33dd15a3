#ifndef VIDFILTER_ENCODE_X265PARAM_H
#define VIDFILTER_ENCODE_X265PARAM_H
#include <x265.h>
// Has x265 parse one parameter: 0 accepted, or X265_PARAM_BAD_NAME or X265_PARAM_BAD_VALUE.
int vf_x265_param(const char *name, const char *value);
#endif
