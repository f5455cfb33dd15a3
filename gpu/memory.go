package gpu

import (
	"unsafe"

	"gorgonia.org/cu"

	"vidfilter/kernels"
)

// memory is what the kernels of a stream use of a device beside the frames. All methods are called on the unit's work thread.
type memory struct {
	table, scratch buffer
	textures       []uint64 // over scratch
}

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
	return m, m.makeScratch(u, p)
}

// makeScratch allocates the scratch memory and makes the textures over it.
func (m *memory) makeScratch(u *unit, p *kernels.Plan) error {
	size, textures := p.Scratch(), p.Textures()
	if len(textures) > 0 {
		size += kernels.TextureAlign
	}
	if err := m.scratch.grow(u, size); err != nil {
		return err
	}
	for _, t := range textures {
		object, err := newTexture(m.scratchStart()+cu.DevicePtr(t.Offset), t.Size)
		if err != nil {
			return u.failed(err, "make a texture of %s on %s", megabytes(int64(t.Size)), u)
		}
		m.textures = append(m.textures, object)
	}
	return nil
}

// scratchStart is where textures may begin.
func (m *memory) scratchStart() cu.DevicePtr {
	return (m.scratch.address + kernels.TextureAlign - 1) &^ (kernels.TextureAlign - 1)
}

// device returns where the kernels find it.
func (m *memory) device() kernels.DeviceMemory {
	d := kernels.DeviceMemory{Table: uint64(m.table.address), Scratch: uint64(m.scratch.address)}
	if len(m.textures) > 0 {
		d.Scratch = uint64(m.scratchStart())
	}
	copy(d.Textures[:], m.textures)
	return d
}

// free gives everything back; of nothing, too.
func (m *memory) free() {
	if m != nil {
		for _, t := range m.textures {
			_ = freeTexture(t)
		}
		m.textures = nil
		m.table.free()
		m.scratch.free()
	}
}
