package gpu

import (
	"gorgonia.org/cu"

	"vidfilter/kernels"
)

// slot holds the device memory and events for one frame in a stream. A stream may have several
// slots. All methods must be called on the unit's work thread.
type slot struct {
	unit    *unit
	kernel  *function
	stream  cu.Stream
	owner   bool // of the stream
	in, out buffer
	memory  *memory   // of the kernel, besides frames; shared by the stream's slots
	marks   [2]*marks // alternating: a frame's times are read while the next is in progress
	uses    int
}

// marks are the events around the stages of one frame.
type marks struct{ start, in, kernel, out cu.Event }

// buffer is device memory.
type buffer struct {
	address cu.DevicePtr
	size    int
}

// newSlot returns a slot for a plan with buffers of size bytes. It shares the stream of the slot
// before, which must outlive it, or makes one if that is nil. It frees everything on error.
func newSlot(u *unit, p *kernels.Plan, before *slot, size int) (*slot, error) {
	s := &slot{unit: u}
	if err := s.make(p, before, size); err != nil {
		s.free()
		return nil, err
	}
	return s, nil
}

func (s *slot) make(p *kernels.Plan, before *slot, size int) (err error) {
	if s.kernel, err = s.unit.load(p.Variant); err != nil {
		return err
	}
	for i := range s.marks {
		if s.marks[i], err = newMarks(); err != nil {
			return s.unit.failed(err, "make events on %s", s.unit)
		}
	}
	if before != nil {
		s.stream, s.memory = before.stream, before.memory
	} else if s.stream, err = cu.MakeStream(cu.NonBlocking); err != nil {
		return s.unit.failed(err, "make a stream on %s", s.unit)
	} else {
		s.owner = true
		if s.memory, err = newMemory(s.unit, p); err != nil {
			return err
		}
	}
	if err = s.in.grow(s.unit, size); err != nil {
		return err
	}
	return s.out.grow(s.unit, size)
}

// newMarks returns events that block waiting threads instead of letting them spin.
func newMarks() (m *marks, err error) {
	m = new(marks)
	for _, e := range m.all() {
		if *e, err = cu.MakeEvent(cu.BlockingSyncEvent); err != nil {
			m.free()
			return nil, err
		}
	}
	return m, nil
}

func (m *marks) all() []*cu.Event { return []*cu.Event{&m.start, &m.in, &m.kernel, &m.out} }

func (m *marks) free() {
	for _, e := range m.all() {
		if *e != (cu.Event{}) {
			_ = cu.DestroyEvent(e)
		}
	}
}

// grow makes the buffer at least size bytes. Its contents are lost; nothing may be using it.
func (b *buffer) grow(u *unit, size int) error {
	if size <= b.size {
		return nil
	}
	b.free()
	address, err := cu.MemAlloc(int64(size))
	if err != nil {
		free, _, _ := cu.MemInfo()
		return u.failed(err, "allocate %s on %s, of which %s are free", megabytes(int64(size)), u, megabytes(free))
	}
	b.address, b.size = address, size
	return nil
}

func (b *buffer) free() {
	if b.size > 0 {
		_ = cu.MemFree(b.address)
	}
	*b = buffer{}
}

// free frees everything, even in a partially made slot.
func (s *slot) free() {
	s.in.free()
	s.out.free()
	if s.owner {
		s.memory.free()
		_ = s.stream.Destroy()
	}
	for _, m := range s.marks {
		if m != nil {
			m.free()
		}
	}
}

// next returns the events for the next frame.
func (s *slot) next() *marks {
	s.uses++
	return s.marks[s.uses%len(s.marks)]
}
