package gpu

import (
	"unsafe"

	"gorgonia.org/cu"

	"vidfilter/kernels"
)

// memory is what the kernels of a stream use of a device beside the frames. All methods are called on the unit's work thread.
type memory struct{ table, scratch buffer }

// newMemory allocates what a plan asks for and uploads its table; after an error nothing is left.
func newMemory(u *unit, p *kernels.Plan) (_ *memory, err error) {
	m := new(memory)
	defer func() {
		if err != nil {
			m.free()
		}
	}()
	if table := p.Table(); len(table) > 0 {
		if err := m.table.grow(u, len(table)); err != nil {
			return nil, err
		}
		if err := cu.MemcpyHtoD(m.table.address, unsafe.Pointer(&table[0]), int64(len(table))); err != nil {
			return nil, u.failed(err, "copy a table to %s", u)
		}
	}
	return m, m.scratch.grow(u, p.Scratch())
}

// device returns where the kernels find it.
func (m *memory) device() kernels.DeviceMemory {
	return kernels.DeviceMemory{Table: uint64(m.table.address), Scratch: uint64(m.scratch.address)}
}

// free gives everything back; of nothing, too.
func (m *memory) free() {
	if m != nil {
		m.table.free()
		m.scratch.free()
	}
}
