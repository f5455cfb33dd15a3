package gpu

import (
	"unsafe"

	"gorgonia.org/cu"

	"vidfilter/kernels"
)

// slot is the memory and events that a frame in a stream of a device needs. A stream may have several. All methods are called
// on the unit's work thread.
type slot struct {
	unit    *unit
	kernel  *function
	stream  cu.Stream
	owner   bool // of the stream
	in, out buffer
	memory  *memory   // what the kernel uses beside; the stream's
	marks   [2]*marks // by turns: the times of a frame are read when the next is on its way
	uses    int
}

// marks are the events around the stages of one frame.
type marks struct{ start, in, kernel, out cu.Event }

// buffer is memory of the device.
type buffer struct {
	address cu.DevicePtr
	size    int
}

// newSlot returns a slot with buffers of size bytes and the variant's kernel, in the stream of the slot before, which must outlive it, or
// where that is nil in a new one; after an error nothing is left. black is for kernels that read around their source.
func newSlot(u *unit, v kernels.Variant, p *kernels.Plan, before *slot, size int, black bool) (*slot, error) {
	s := &slot{unit: u}
	if err := s.make(v, p, before, size, black); err != nil {
		s.free()
		return nil, err
	}
	return s, nil
}

func (s *slot) make(v kernels.Variant, p *kernels.Plan, before *slot, size int, black bool) (err error) {
	if s.kernel, err = s.unit.load(v); err != nil {
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
	if black {
		if err = s.in.blacken(s.unit); err != nil {
			return err
		}
	}
	return s.out.grow(s.unit, size)
}

// newMarks returns events that are waited for asleep, not spinning.
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

// grow makes the buffer at least so large. What was in it is lost; nothing may be using it.
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

// blacken fills the buffer with opaque black of RGBA.
func (b *buffer) blacken(u *unit) error {
	words := make([]uint32, min(b.size, 1<<20)/4)
	for i := range words {
		words[i] = 0xff << 24
	}
	for at := 0; at+4 <= b.size; at += 4 * len(words) {
		n := min(4*len(words), b.size-at)
		if err := cu.MemcpyHtoD(b.address+cu.DevicePtr(at), unsafe.Pointer(&words[0]), int64(n)); err != nil {
			return u.failed(err, "fill a buffer on %s", u)
		}
	}
	return nil
}

func (b *buffer) free() {
	if b.size > 0 {
		_ = cu.MemFree(b.address)
	}
	*b = buffer{}
}

// free gives everything back; a slot that was made in part, too.
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
