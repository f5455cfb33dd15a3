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

// end is where rows of bytes begin: in host memory, or in device memory if host is nil.
type end struct {
	host   unsafe.Pointer
	device cu.DevicePtr
	pitch  int // bytes from one row to the next
}

func (e end) native() C.struct_vf_end {
	return C.struct_vf_end{host: e.host, device: C.CUdeviceptr(e.device), pitch: C.size_t(e.pitch)}
}

// rows are rows of bytes in a buffer, and outside of it: in host memory, or in another block of the
// device.
type rows struct {
	outside, buffer end
	width, count    int // bytes, rows
}

// in queues the copy into the buffer, and out the copy back.
func (r rows) in(s cu.Stream) error  { return r.copy(r.buffer, r.outside, s) }
func (r rows) out(s cu.Stream) error { return r.copy(r.outside, r.buffer, s) }

// copy queues a contiguous copy if the pitches match.
func (r rows) copy(to, from end, s cu.Stream) error {
	size := int64(from.pitch*(r.count-1) + r.width)
	switch {
	case to.pitch != from.pitch:
		return result(C.vf_copy_rows(to.native(), from.native(), C.size_t(r.width), C.size_t(r.count), streamHandle(s)))
	case from.host != nil:
		return cu.MemcpyHtoDAsync(to.device, from.host, size, s)
	case to.host != nil:
		return cu.MemcpyDtoHAsync(to.host, from.device, size, s)
	}
	return cu.MemcpyDtoDAsync(to.device, from.device, size, s)
}
