#include "x265param.h"

int vf_x265_param(const char *name, const char *value)
{
	x265_param *p = x265_param_alloc();
	if (!p)
		return X265_PARAM_BAD_VALUE;
	x265_param_default(p);
	int err = x265_param_parse(p, name, value);
	x265_param_free(p);
	return err;
}
