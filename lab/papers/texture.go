package papers

/*
#cgo LDFLAGS: -lcuda
#include <libcuda.h>

// Makes a texture object of that many bytes of floats, one a texel.
static CUresult vf_texture(CUtexObject *texture, CUdeviceptr floats, size_t bytes)
{
	CUDA_RESOURCE_DESC memory = {
		.resType = CU_RESOURCE_TYPE_LINEAR,
		.res.linear = {.devPtr = floats, .format = CU_AD_FORMAT_FLOAT, .numChannels = 1, .sizeInBytes = bytes},
	};
	CUDA_TEXTURE_DESC desc = {.filterMode = CU_TR_FILTER_MODE_POINT};
	return cuTexObjectCreate(texture, &memory, &desc, NULL);
}
*/
import "C"

import "fmt"

// newTextures makes n texture objects of size bytes of floats each, step bytes apart. free destroys
// them. The addresses must be multiples of 512, and the memory must outlive the textures. It must
// be called on a thread with the device's context.
func newTextures(floats uint64, n, step, size int) (all []uint64, free func(), err error) {
	free = func() {
		for _, t := range all {
			C.cuTexObjectDestroy(C.CUtexObject(t))
		}
	}
	for i := range n {
		var t C.CUtexObject
		if r := C.vf_texture(&t, C.CUdeviceptr(floats+uint64(i*step)), C.size_t(size)); r != 0 {
			free()
			return nil, nil, fmt.Errorf("make a texture of %d bytes: CUDA error %d", size, r)
		}
		all = append(all, uint64(t))
	}
	return all, free, nil
}
