/* What driver.c and the assembly of jump_*.S call of each other. */
#ifndef VIDFILTER_DRIVER_H
#define VIDFILTER_DRIVER_H

/* One address for each line of symbols.h: vf_cuda_first until the driver is loaded, then the driver's. */
extern void *vf_cuda_table[];

/* Where the jumps lead at first: keeps the arguments, calls vf_cuda_load, and jumps again. */
void vf_cuda_first(void);

/* Fills the table with anything but vf_cuda_first; thread-safe. */
void vf_cuda_load(void);

#endif
