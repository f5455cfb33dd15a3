package gpu

import (
	"unsafe"

	"gorgonia.org/cu"

	"vidfilter/kernels"
)

// memory is the device memory that a stream's kernels use besides frames. All methods must be
// called on the unit's work thread.
type memory struct {
	table, scratch buffer
	handles        []uint64
	release        func() // frees the handles; may be nil
}

// newMemory allocates the plan's memory and uploads its table. It frees everything on error.
func newMemory(u *openDevice, p *kernels.Plan) (_ *memory, err error) {
	m := new(memory)
	defer func() {
		if err != nil {
			m.free()
		}
	}()
	if len(p.Table) > 0 {
		if err := m.table.grow(u, len(p.Table)+kernels.MemoryAlign); err != nil {
			return nil, err
		}
		if err := cu.MemcpyHtoD(aligned(m.table), unsafe.Pointer(&p.Table[0]), int64(len(p.Table))); err != nil {
			return nil, u.failed(err, "copy a table to %s", u)
		}
	}
	if p.Scratch > 0 {
		if err := m.scratch.grow(u, p.Scratch+kernels.MemoryAlign); err != nil {
			return nil, err
		}
	}
	if p.Prepare != nil {
		m.handles, m.release, err = p.Prepare(m.device())
	}
	return m, u.failed(err, "prepare %s on %s", p.Variant.Name, u)
}

// device returns the addresses and handles for the kernels.
func (m *memory) device() kernels.DeviceMemory {
	return kernels.DeviceMemory{Table: uint64(aligned(m.table)), Scratch: uint64(aligned(m.scratch)), Handles: m.handles}
}

// aligned returns the first multiple of kernels.MemoryAlign in a buffer; 0 for an empty buffer.
func aligned(b buffer) cu.DevicePtr {
	return (b.address + kernels.MemoryAlign - 1) &^ (kernels.MemoryAlign - 1)
}

// free frees everything; m may be nil.
func (m *memory) free() {
	if m == nil {
		return
	}
	if m.release != nil {
		m.release()
	}
	m.handles, m.release = nil, nil
	m.table.free()
	m.scratch.free()
}
