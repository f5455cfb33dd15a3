package gpu

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"gorgonia.org/cu"

	"vidfilter/gpu/surface"
	"vidfilter/gpu/testdriver"
	"vidfilter/internal/e2e"
	"vidfilter/pipeline"
)

// openEncoding opens a backend and an encoding, which chips without NVENC have too, until the test
// ends.
func openEncoding(t *testing.T) (*Backend, *Encoding) {
	t.Helper()
	b, err := Open(Options{})
	e2e.Must(t, err)
	t.Cleanup(func() { _ = b.Close() })
	e, err := b.newEncoding(b.units[0])
	e2e.Must(t, err)
	t.Cleanup(e.Close)
	return b, e
}

// A surface for the encoder has the frame's samples at the high end of its words, chroma of 4:2:0
// in pairs, wherever the samples are: in memory of the device, or of the host.
func TestGive(t *testing.T) {
	if !onDriver(t, "") {
		return
	}
	b, e := openEncoding(t)
	for _, l := range pipeline.Layouts() {
		if !surface.Joins(l) {
			continue
		}
		for _, resident := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v, resident %v", l, resident), func(t *testing.T) { give(t, b, e, l, resident) })
		}
	}
}

func give(t *testing.T, b *Backend, e *Encoding, l pipeline.Layout, resident bool) {
	f := pipeline.Format{Layout: l, Width: 70, Height: 46}
	info, size := l.Info(), l.Info().SampleBytes()
	mem, err := b.Alloc(frameBytes(f))
	e2e.Must(t, err)
	defer mem.Free()
	host := pipeline.FrameIn(mem.Bytes, f, nil, nil)
	defer host.Release()
	for i, y := range f.Rows() {
		row := host.Row(i, y)
		for x := range row {
			row[x] = byte(31*i + 7*y + 3*x)
			if size == 2 && x%2 == 1 {
				row[x] &= byte(1<<(info.Depth+info.Shift-8) - 1)
			}
			if size == 2 && x%2 == 0 {
				row[x] &= ^byte(1<<info.Shift - 1)
			}
		}
	}
	frame := host
	pool := pipeline.NewPool(b, 1)
	defer pool.Close()
	if resident {
		b.KeepResults(pool)
		if frame, err = pool.TakeFrame(f, nil); err != nil {
			t.Fatal(err)
		}
		defer frame.Release()
		if frame.Planes[0].Data != nil || frame.Device.Owner != any(b.units[0]) {
			t.Fatalf("the frame is in %v", frame.Device)
		}
		e.copyTo(t, cu.DevicePtr(frame.Device.Address), mem.Bytes)
		back, err := e.Host(frame)
		e2e.Must(t, err)
		for i, y := range f.Rows() {
			if string(back.Row(i, y)) != string(host.Row(i, y)) {
				t.Fatalf("plane %d, row %d came back otherwise", i, y)
			}
		}
		back.Release()
	}

	const pitch = 512
	rows := [3]int{46, 23, 0}
	if info.SubX == 0 {
		rows = [3]int{46, 46, 46}
	}
	to, at := pipeline.Surface{}, 0
	memory := e.alloc(t, pitch*3*46)
	defer e.free(memory)
	for i, n := range rows {
		to.Address[i], to.Pitch[i] = uint64(memory.address)+uint64(at), pitch
		at += pitch * n
	}
	e2e.Must(t, e.Give(frame, to))
	got := e.copyFrom(t, memory, at)
	sample := func(plane, x, y int) uint {
		r := host.Row(plane, y)
		if size == 1 {
			return uint(r[x])
		}
		return (uint(r[2*x]) | uint(r[2*x+1])<<8) << (16 - info.Depth - info.Shift)
	}
	first := 0
	for i, n := range rows {
		width := 70
		for y := range n {
			for x := range width {
				want := uint(0)
				switch {
				case i == 0 || info.SubX == 0 || info.SemiPlanar:
					want = sample(i, x, y)
				default:
					want = sample(1+x%2, x/2, y)
				}
				p := got[first+y*pitch+x*size:]
				v := uint(p[0])
				if size == 2 {
					v |= uint(p[1]) << 8
				}
				if v != want {
					t.Fatalf("plane %d, sample %d of row %d is %#x, want %#x", i, x, y, v, want)
				}
			}
		}
		first += n * pitch
	}
}

func frameBytes(f pipeline.Format) int {
	_, _, size := f.PlanLayout(pipeline.PitchAlign)
	return size
}

func (e *Encoding) alloc(t *testing.T, size int) (b buffer) {
	t.Helper()
	e2e.Must(t, e.thread.do(func() error { return b.grow(e.unit, size) }))
	return b
}

func (e *Encoding) free(b buffer) { _ = e.thread.do(func() error { b.free(); return nil }) }

func (e *Encoding) copyTo(t *testing.T, to cu.DevicePtr, from []byte) {
	t.Helper()
	e2e.Must(t, e.thread.do(func() error { return cu.MemcpyHtoD(to, unsafe.Pointer(&from[0]), int64(len(from))) }))
}

func (e *Encoding) copyFrom(t *testing.T, b buffer, size int) []byte {
	t.Helper()
	to := make([]byte, size)
	e2e.Must(t, e.thread.do(func() error { return cu.MemcpyDtoH(unsafe.Pointer(&to[0]), b.address, int64(size)) }))
	return to
}

// A device that fails as a picture is given is an error of the device.
func TestGiveFails(t *testing.T) {
	if !onDriver(t, "launch=1") {
		return
	}
	_, e := openEncoding(t)
	memory := e.alloc(t, 512*100)
	f := pipeline.Blank(pipeline.Format{Layout: pipeline.YUV420P, Width: 70, Height: 46})
	a := uint64(memory.address)
	err := e.Give(f, pipeline.Surface{Address: [3]uint64{a, a + 46*512}, Pitch: [3]int{512, 512}})
	if !errors.Is(err, ErrDevice) {
		t.Errorf("error %v", err)
	}
}

// A session that cannot be opened is destroyed all the same.
func TestSessionFails(t *testing.T) {
	if os.Getenv(testdriver.RealDevice) != "" {
		t.Skip("asks for what only the test driver has: faults")
	}
	if !onDriver(t, "") {
		return
	}
	b, err := Open(Options{})
	e2e.Must(t, err)
	defer b.Close()
	log := filepath.Join(t.TempDir(), "log")
	for _, fault := range []string{"none=1", "sessions=0"} {
		t.Setenv(testdriver.EncoderVariable, fault+",log="+log)
		if _, err := b.Encoding(); !errors.Is(err, ErrNVENC) {
			t.Errorf("%s: error %v", fault, err)
		}
	}
	calls, err := os.ReadFile(log)
	if n := strings.Count(string(calls), "nvEncDestroyEncoder"); err != nil || n != 2 {
		t.Errorf("%d sessions are destroyed, %v:\n%s", n, err, calls)
	}
}
