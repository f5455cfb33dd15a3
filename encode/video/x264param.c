#include "x264param.h"
#include <stdint.h>
#include <string.h>
#include <x264.h>

int vf_x264_param(const char *name, const char *value)
{
	x264_param_t p, standard;
	x264_param_default(&p);
	x264_param_default(&standard);
	int err = x264_param_parse(&p, name, value);
	if (err == 0)
		err = p.psz_dump_yuv || p.psz_cqm_file || p.psz_clbin_file || p.b_opencl || p.rc.b_stat_read ||
		      p.rc.b_stat_write || strcmp(p.rc.psz_stat_out, standard.rc.psz_stat_out) ||
		      strcmp(p.rc.psz_stat_in, standard.rc.psz_stat_in);
	x264_param_cleanup(&p);
	return err;
}

int vf_x264_cpu(void)
{
	x264_param_t p;
	x264_param_default(&p);
#ifdef X264_CPU_AVX512
	p.cpu &= ~X264_CPU_AVX512;
#endif
	return (int)p.cpu;
}
