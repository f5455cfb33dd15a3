package kernels

import (
	"fmt"
	"strings"
	"unsafe"

	"vidfilter/pipeline"
)

// DevicePlanes locates the planes of a frame in a device's memory: the address of each plane's
// first sample, and the bytes from one row to the next. Kernels are fastest if all of them are
// multiples of 16.
type DevicePlanes struct {
	Addr  [3]uint64
	Pitch [3]int
}

// Field is a progressive frame, or one field of an interlaced one, with its result, in a device's
// memory.
type Field struct {
	Width, Height int // luma samples
	Src, Dst      DevicePlanes
	ChromaRead    int // chroma rows that may be read, at least 1 where there is chroma
	ChromaWrite   int // chroma rows owned by the field
}

// MemoryAlign divides the addresses in DeviceMemory; driver objects over memory require this
// alignment.
const MemoryAlign = 512

// DeviceMemory is the memory that a plan's launches use besides frames: the addresses of
// Work.Table and Work.Scratch, 0 where these are empty, and the handles from Work.Prepare.
type DeviceMemory struct {
	Table, Scratch uint64
	Handles        []uint64
}

// Launch is one run of a kernel. Args is its only parameter, a struct of ArgsSize bytes that is
// passed by value and holds no Go pointers.
type Launch struct {
	Grid, Block [2]int
	Shared      int // dynamic shared memory in bytes
	Args        unsafe.Pointer
	ArgsSize    uintptr
}

// Work is how a variant filters frames of one format.
type Work struct {
	Table   []byte // copied to the device's memory, the same for every frame
	Scratch int    // bytes of memory of its own; consecutive frames may share it without clearing

	// Prepare, if not nil, makes driver objects for the launches, once for each memory, on a
	// thread with the device's context. The caller calls free on such a thread.
	Prepare func(m DeviceMemory) (handles []uint64, free func(), err error)

	// Launches returns the runs that filter one field, in their order on one stream. Source and
	// result must not overlap.
	Launches func(f Field, m DeviceMemory) []Launch
}

// Plan is a variant set up for frames of one format. Making one takes longer than filtering a
// small frame.
type Plan struct {
	Variant Variant
	Work
	format pipeline.Format
}

// Planner makes the plan for frames of a format on devices within the limits.
type Planner func(f pipeline.Format, l Limits) (*Plan, error)

// Planner returns the planner of a variant with options p.
func (v Variant) Planner(p Stage) Planner {
	return func(f pipeline.Format, l Limits) (*Plan, error) { return v.plan(p, f, l) }
}

// Chosen returns the planner of the variant that Choose picks.
func Chosen(p Planned) Planner {
	return func(f pipeline.Format, l Limits) (*Plan, error) {
		v, err := Choose(p, f, l)
		if err != nil {
			return nil, err
		}
		return v.plan(p, f, l)
	}
}

func (v Variant) plan(p Stage, f pipeline.Format, l Limits) (*Plan, error) {
	if err := Validate(p); err != nil {
		return nil, err
	}
	if err := v.Refuses(p); err != nil {
		return nil, err
	}
	switch {
	case !v.TakesLayout(f.Layout):
		return nil, fmt.Errorf("kernels: %s filters %s, not %s", v.Name, v.takes(), f.Layout)
	case v.Compute > l.Compute:
		return nil, fmt.Errorf("kernels: %s needs compute capability %d.%d, and this is %d.%d", v.Name, v.Compute/10, v.Compute%10, l.Compute/10, l.Compute%10)
	}
	work, err := v.Form.Work(v, p, f, l)
	if f.Layout.Info().Gray() {
		work = work.colourless(f)
	}
	return &Plan{Variant: v, Work: work, format: f}, err
}

// colourless is the work on gray frames: as on 4:2:0, with a row of chroma from the table.
func (w Work) colourless(f pipeline.Format) Work {
	at := Blocks(len(w.Table), MemoryAlign) * MemoryAlign
	table := make([]byte, at)
	copy(table, w.Table)
	launches := w.Launches
	// Kernels read whole vectors of four pixels within the picture only.
	w.Table = append(table, colourless(f)...)
	w.Launches = func(field Field, m DeviceMemory) []Launch {
		for i := 1; i < len(field.Src.Addr); i++ {
			field.Src.Addr[i], field.Dst.Addr[i] = m.Table+uint64(at), m.Table+uint64(at)
			field.Src.Pitch[i], field.Dst.Pitch[i] = 0, 0
		}
		field.ChromaRead, field.ChromaWrite = 1, 0
		return launches(field, m)
	}
	return w
}

// planes returns how many planes of a field kernels see.
func (f Field) planes(format pipeline.Format) int {
	if format.Layout.Info().Gray() {
		return len(f.Src.Addr)
	}
	return format.NumPlanes()
}

// Frame returns the launches that filter one frame from src to dst, field by field.
func (p *Plan) Frame(interlaced bool, src, dst DevicePlanes, m DeviceMemory) (all []Launch) {
	rows, n := rowsOf(p.format, interlaced)
	for _, r := range rows[:n] {
		all = append(all, p.Launches(r.onDevice(p.format, src, dst), m)...)
	}
	return all
}

// onDevice returns the field's part of a frame.
func (r fieldRows) onDevice(format pipeline.Format, src, dst DevicePlanes) Field {
	f := Field{Width: format.Width, Height: r.height, ChromaRead: r.chromaRead, ChromaWrite: r.chromaWrite}
	part := func(p DevicePlanes) (own DevicePlanes) {
		for i := range format.NumPlanes() {
			own.Addr[i], own.Pitch[i] = p.Addr[i]+uint64(r.first[i])*uint64(p.Pitch[i]), p.Pitch[i]*r.step
		}
		return own
	}
	f.Src, f.Dst = part(src), part(dst)
	return f
}

// Blocks returns how many tiles cover n pixels.
func Blocks(n, tile int) int { return (n + tile - 1) / tile }

func layoutNames(all []pipeline.Layout) string {
	names := make([]string, len(all))
	for i, l := range all {
		names[i] = l.String()
	}
	return strings.Join(names, ", ")
}
