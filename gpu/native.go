package gpu

// #include "native.h"
import "C"

import (
	"context"
	"errors"
	"unsafe"

	"gorgonia.org/cu"

	"vidfilter/kernels"
)

// cu's types consist of one unexported handle. This fails to compile if their size changes.
var (
	_ = [1]byte{}[unsafe.Sizeof(cu.Function{})-unsafe.Sizeof(C.CUfunction(nil))]
	_ = [1]byte{}[unsafe.Sizeof(cu.Stream{})-unsafe.Sizeof(C.CUstream(nil))]
)

func functionHandle(f cu.Function) C.CUfunction { return *(*C.CUfunction)(unsafe.Pointer(&f)) }
func streamHandle(s cu.Stream) C.CUstream       { return *(*C.CUstream)(unsafe.Pointer(&s)) }

// pinned is host memory that every device copies from and to directly.
type pinned struct {
	address unsafe.Pointer
	size    int
	mapped  bool // by vf_map, and not by the driver
}

// pin allocates pinned memory. Drivers that cannot pin memory of this process allocate it, which
// takes two to four times as long, and all of it on the work thread.
func (u *openDevice) pin(size int) (m pinned, err error) {
	m.size = size
	if m.address = C.vf_map(C.size_t(size)); m.address != nil {
		m.mapped = true
		err := u.work.do(func() error { return result(C.vf_pin(m.address, C.size_t(size))) })
		if err == nil {
			return m, nil
		}
		m.unmap()
		if errors.Is(err, status(cu.OutOfMemory)) {
			return m, err
		}
		m.mapped = false
	}
	m.address, err = call(context.Background(), u.work, func() (p unsafe.Pointer, err error) {
		err = result(C.vf_alloc_pinned(&p, C.size_t(size)))
		return p, err
	})
	return m, err
}

// unpin must be called on the work thread, and unmap after it. With its context the driver forgets
// pinned memory by itself.
func (m pinned) unpin() error {
	if m.mapped {
		return result(C.cuMemHostUnregister(m.address))
	}
	return cu.MemFreeHost(m.address)
}

func (m pinned) unmap() {
	if m.mapped {
		C.vf_unmap(m.address, C.size_t(m.size))
	}
}

// ordinary allocates unpinned host memory; nil on failure.
func ordinary(size int) unsafe.Pointer { return C.vf_ordinary(C.size_t(size)) }
func freeOrdinary(p unsafe.Pointer)    { C.free(p) }

// run queues a kernel.
func run(f cu.Function, l kernels.Launch, s cu.Stream) error {
	c := C.struct_vf_launch{grid: pair(l.Grid), block: pair(l.Block), shared: C.int(l.Shared)}
	return result(C.vf_run(functionHandle(f), &c, streamHandle(s), l.Args))
}

func pair(a [2]int) [2]C.int { return [2]C.int{C.int(a[0]), C.int(a[1])} }

// allowShared lets a kernel use more dynamic shared memory than the default of 48 KiB.
func allowShared(f cu.Function, bytes int) error {
	return result(C.vf_allow_shared(functionHandle(f), C.int(bytes)))
}

// rows are rows of bytes in host and device memory, or in two places of the device's.
type rows struct {
	host                   unsafe.Pointer
	source                 cu.DevicePtr // or target, in the host's place, with its pitch; 0: unused
	device                 cu.DevicePtr
	hostPitch, devicePitch int
	width, count           int // bytes, rows
}

// in queues the copy to the device, as one contiguous copy if the pitches match.
func (r rows) in(s cu.Stream) error {
	if r.source != 0 && r.hostPitch == r.devicePitch {
		return cu.MemcpyDtoDAsync(r.device, r.source, r.span(), s)
	}
	if r.source != 0 {
		return result(C.vf_rows_within(C.CUdeviceptr(r.device), C.size_t(r.devicePitch), C.CUdeviceptr(r.source), C.size_t(r.hostPitch),
			C.size_t(r.width), C.size_t(r.count), streamHandle(s)))
	}
	if r.hostPitch == r.devicePitch {
		return cu.MemcpyHtoDAsync(r.device, r.host, r.span(), s)
	}
	return result(C.vf_rows_in(C.CUdeviceptr(r.device), C.size_t(r.devicePitch), r.host, C.size_t(r.hostPitch),
		C.size_t(r.width), C.size_t(r.count), streamHandle(s)))
}

// out queues the copy to the host, or to the target.
func (r rows) out(s cu.Stream) error {
	if r.source != 0 && r.hostPitch == r.devicePitch {
		return cu.MemcpyDtoDAsync(r.source, r.device, r.span(), s)
	}
	if r.source != 0 {
		return result(C.vf_rows_within(C.CUdeviceptr(r.source), C.size_t(r.hostPitch), C.CUdeviceptr(r.device), C.size_t(r.devicePitch),
			C.size_t(r.width), C.size_t(r.count), streamHandle(s)))
	}
	if r.hostPitch == r.devicePitch {
		return cu.MemcpyDtoHAsync(r.host, r.device, r.span(), s)
	}
	return result(C.vf_rows_out(r.host, C.size_t(r.hostPitch), C.CUdeviceptr(r.device), C.size_t(r.devicePitch),
		C.size_t(r.width), C.size_t(r.count), streamHandle(s)))
}

func (r rows) span() int64 { return int64(r.hostPitch*(r.count-1) + r.width) }
