package papers

// #cgo LDFLAGS: -lcuda
// #include "texture.h"
import "C"

import "fmt"

// newTextures makes n texture objects of size bytes of floats each, one a texel, step bytes apart;
// free destroys them. It must be called on a thread with the device's context.
func newTextures(floats uint64, n, step, size int) (all []uint64, free func(), err error) {
	free = func() {
		for _, t := range all {
			C.vf_texture_free(C.CUtexObject(t))
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
