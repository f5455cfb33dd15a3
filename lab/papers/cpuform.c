// The entry points for Go.
#include "cpuform.h"

size_t vf_form_memory(const vf_form *f, const vf_form_job *j) { return f->memory ? f->memory(j) : 0; }

int vf_form_parts(const vf_form *f, const vf_form_job *j, int step)
{
	return f->steps[step].parts ? f->steps[step].parts(j) : 0;
}

void vf_form_run(const vf_form *f, const vf_form_job *j, int step, int channel, int part)
{
	f->steps[step].run(j, channel, part);
}
