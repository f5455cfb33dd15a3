package gpu

import (
	"gorgonia.org/cu"

	"vidfilter/kernels"
)

// slot is one stream of a device with the memory and events that a frame in it needs. All methods are called
// on the unit's work thread.
type slot struct {
	unit    *unit
	kernel  *function
	stream  cu.Stream
	in, out buffer
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

// newSlot returns a slot with buffers of size bytes and the variant's kernel; after an error nothing is left.
func newSlot(u *unit, v kernels.Variant, size int) (s *slot, err error) {
	s = &slot{unit: u}
	defer func() {
		if err != nil {
			s.free()
		}
	}()
	if s.kernel, err = u.load(v); err != nil {
		return nil, err
	}
	for i := range s.marks {
		if s.marks[i], err = newMarks(); err != nil {
			return nil, u.failed(err, "make events on %s", u)
		}
	}
	if s.stream, err = cu.MakeStream(cu.NonBlocking); err != nil {
		return nil, u.failed(err, "make a stream on %s", u)
	}
	if err = s.grow(&s.in, size); err != nil {
		return nil, err
	}
	return s, s.grow(&s.out, size)
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

// grow makes the buffer at least so large. What was in it is lost; nothing may be using it. New memory is
// cleared, since what lies between planes is copied back with them.
func (s *slot) grow(b *buffer, size int) error {
	u := s.unit
	if size <= b.size {
		return nil
	}
	b.free()
	address, err := cu.MemAlloc(int64(size))
	if err != nil {
		free, _, _ := cu.MemInfo()
		return u.failed(err, "allocate %d bytes on %s, of which %d are free", size, u, free)
	}
	b.address, b.size = address, size
	return u.failed(cu.MemsetD8Async(address, 0, int64(size), s.stream), "clear memory on %s", u)
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
	if s.stream != (cu.Stream{}) {
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
