// Reads a texture object: out = the texels from args.count on, one per thread.
#include "args.h"
#include "../../../lab/papers/cuda/texture.h"

KERNEL(texture, 64, 1) { store(args, thread_x(), float_bits(texel(args.in, args.count + thread_x()))); }
