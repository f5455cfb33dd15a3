package gpu

// #include "native.h"
import "C"

import (
	"unsafe"

	"gorgonia.org/cu"

	"vidfilter/kernels"
)

// cu does not export the handles in its types, which hold nothing else.
var (
	_ = [1]byte{}[unsafe.Sizeof(cu.Function{})-unsafe.Sizeof(C.CUfunction(nil))]
	_ = [1]byte{}[unsafe.Sizeof(cu.Stream{})-unsafe.Sizeof(C.CUstream(nil))]
)

func functionHandle(f cu.Function) C.CUfunction { return *(*C.CUfunction)(unsafe.Pointer(&f)) }
func streamHandle(s cu.Stream) C.CUstream       { return *(*C.CUstream)(unsafe.Pointer(&s)) }

// pin allocates host memory that every device copies from and to directly. It is freed by cu.MemFreeHost.
func pin(size int) (unsafe.Pointer, error) {
	var p unsafe.Pointer
	err := result(C.vf_pin(&p, C.size_t(size)))
	return p, err
}

// ordinary allocates host memory that is not pinned. It is nil when there is none.
func ordinary(size int) unsafe.Pointer { return C.vf_ordinary(C.size_t(size)) }
func freeOrdinary(p unsafe.Pointer)    { C.free(p) }

// run queues a kernel.
func run(f cu.Function, l kernels.Launch, s cu.Stream) error {
	c := C.struct_vf_launch{grid: ints(l.Grid), block: ints(l.Block), shared: C.int(l.Shared)}
	return result(C.vf_run(functionHandle(f), &c, streamHandle(s), l.Args))
}

func ints(a [3]int) [3]C.int { return [3]C.int{C.int(a[0]), C.int(a[1]), C.int(a[2])} }

// allowShared lets a kernel use more dynamic shared memory than the 48 KiB that all may.
func allowShared(f cu.Function, bytes int) error {
	return result(C.vf_allow_shared(functionHandle(f), C.int(bytes)))
}

// rows are rows of bytes in host and device memory.
type rows struct {
	host                   unsafe.Pointer
	device                 cu.DevicePtr
	hostPitch, devicePitch int
	width, count           int  // bytes, rows
	parted                 bool // what is between the rows must stay on the device
}

// in queues the copy to the device, as one run of bytes where both sides lie alike.
func (r rows) in(s cu.Stream) error {
	if r.hostPitch == r.devicePitch && !r.parted {
		return cu.MemcpyHtoDAsync(r.device, r.host, r.span(), s)
	}
	return result(C.vf_rows_in(C.CUdeviceptr(r.device), C.size_t(r.devicePitch), r.host, C.size_t(r.hostPitch),
		C.size_t(r.width), C.size_t(r.count), streamHandle(s)))
}

// out queues the copy to the host.
func (r rows) out(s cu.Stream) error {
	if r.hostPitch == r.devicePitch {
		return cu.MemcpyDtoHAsync(r.host, r.device, r.span(), s)
	}
	return result(C.vf_rows_out(r.host, C.size_t(r.hostPitch), C.CUdeviceptr(r.device), C.size_t(r.devicePitch),
		C.size_t(r.width), C.size_t(r.count), streamHandle(s)))
}

func (r rows) span() int64 { return int64(r.hostPitch*(r.count-1) + r.width) }

// newTexture makes a texture object of floats, one a texel; see vf_texture.
func newTexture(floats cu.DevicePtr, bytes int) (uint64, error) {
	var t C.CUtexObject
	err := result(C.vf_texture(&t, C.CUdeviceptr(floats), C.size_t(bytes)))
	return uint64(t), err
}

func freeTexture(t uint64) error { return result(C.cuTexObjectDestroy(C.CUtexObject(t))) }
