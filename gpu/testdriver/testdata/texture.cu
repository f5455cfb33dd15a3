// Reads a texture object: out = the texels from args.count on, one a thread.
#include "args.h"

KERNEL(texture, 64, 1) { store(args, thread_x(), float_bits(texel(args.in, args.count + thread_x()))); }
