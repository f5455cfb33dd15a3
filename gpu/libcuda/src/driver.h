/* The interface between driver.c and the assembly in jump_*.S. */
#ifndef VIDFILTER_DRIVER_H
#define VIDFILTER_DRIVER_H

/* One address for each line of symbols.h: vf_cuda_first until the driver is loaded, then the
 * driver's function. */
extern void *vf_cuda_table[];

/* The initial target of all jumps: saves the arguments, calls vf_cuda_load, and jumps again. */
void vf_cuda_first(void);

/* Replaces vf_cuda_first in the whole table; thread-safe. */
void vf_cuda_load(void);

#endif
