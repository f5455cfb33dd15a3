package output

//#include "device.h"
//#include <stdlib.h>
import "C"

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"
	"time"
	"unsafe"

	"vidfilter/live"
	"vidfilter/pipeline"
)

// VirtualCamera is the device of a virtual camera, such as v4l2loopback makes: other programs see
// its input as the pictures of a camera. It is for one goroutine.
type VirtualCamera struct {
	path string
	fd   C.int
	way  deviceFormat
	shaper
	buffer []byte
}

// ErrNoOutput means that a device takes no pictures.
var ErrNoOutput = errors.New("it takes no pictures: it is a camera, or another program writes to it")

// OpenDevice opens the device at a path. The caller closes it.
func OpenDevice(path string) (*VirtualCamera, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	fd := C.vf_output_open(name)
	switch errno := syscall.Errno(-fd); {
	case fd >= 0:
		return &VirtualCamera{path: path, fd: fd}, nil
	case errno == syscall.ENOTTY:
		return nil, ErrNoOutput
	default:
		return nil, errno
	}
}

// Close closes the device.
func (d *VirtualCamera) Close() {
	C.vf_output_close(d.fd)
	if d.shaper.canvas != nil {
		d.shaper.close()
	}
}

// deviceFormat is a format of V4L2 in which pictures may be written.
type deviceFormat struct {
	fourcc uint32
	layout pipeline.Layout
	packed bool // Y, U, Y, V; the layout before packing
}

func fourcc(s string) uint32 { return binary.LittleEndian.Uint32([]byte(s)) }

// ways are in the order in which they are tried: most programs take the first.
var ways = []deviceFormat{
	{fourcc: fourcc("YU12"), layout: pipeline.YUV420P},
	{fourcc: fourcc("NV12"), layout: pipeline.NV12},
	{fourcc: fourcc("YUYV"), layout: pipeline.YUV422P, packed: true},
}

// bytes returns the length of a picture and of a line of its first plane.
func (w deviceFormat) bytes(width, height int) (size, pitch int) {
	if w.packed {
		return 2 * width * height, 2 * width
	}
	return width * height * 3 / 2, width
}

// still is the longest time from one picture to the next: programs take a camera that stands for
// broken.
const still = 100 * time.Millisecond

// Run writes the newest picture of a session until ctx or the session ends or the device fails.
// The device has the size of the first picture, upright and with square pixels, unless it was given
// another; other sizes are scaled to it, which say tells.
func (d *VirtualCamera) Run(ctx context.Context, s *live.Session, say func(string)) error {
	var last pipeline.Format
	return newest(ctx, s, still, func(f *pipeline.Frame, st live.State) error {
		if d.canvas == nil {
			if err := d.begin(st.Display.Size(f.Width, f.Height)); err != nil {
				return err
			}
			last = d.canvas.View.Format
		}
		now := f.Format
		now.Width, now.Height = st.Display.Size(f.Width, f.Height)
		tellScaled(say, last, now, d.canvas.View.Format)
		last = now
		return d.put(f, st.Display)
	})
}

// begin agrees with the device on a format for pictures of a size.
func (d *VirtualCamera) begin(width, height int) error {
	width, height = width&^1, height&^1
	err := error(syscall.EINVAL)
	for _, w := range ways {
		var got deviceFormat
		var gotWidth, gotHeight int
		if got, gotWidth, gotHeight, err = d.ask(w, width, height); err != nil {
			continue
		}
		c, failed := newShaper(limited(got.layout, gotWidth, gotHeight))
		if failed != nil {
			return failed
		}
		d.way, d.shaper = got, *c
		return nil
	}
	return fmt.Errorf("%s takes no pictures of %dx%d: %w", d.path, width, height, err)
}

// ask asks the device for a way, and returns its choice.
func (d *VirtualCamera) ask(w deviceFormat, width, height int) (got deviceFormat, gotWidth, gotHeight int, err error) {
	size, pitch := w.bytes(width, height)
	code, x, y, p, n := C.uint32_t(w.fourcc), C.uint32_t(width), C.uint32_t(height), C.uint32_t(pitch), C.uint32_t(size)
	hd := map[bool]C.int{true: 1}[limited(w.layout, width, height).Matrix == pipeline.BT709]
	if r := C.vf_output_format(d.fd, &code, &x, &y, &p, &n, hd); r < 0 {
		return got, 0, 0, syscall.Errno(-r)
	}
	for _, got := range ways {
		if got.fourcc != uint32(code) {
			continue
		}
		size, pitch := got.bytes(int(x), int(y))
		if x == 0 || y == 0 || x&1 != 0 || y&1 != 0 || int(p) != pitch || int(n) < size {
			return got, 0, 0, syscall.EINVAL
		}
		return got, int(x), int(y), nil
	}
	return got, 0, 0, syscall.EINVAL
}

func (d *VirtualCamera) put(f *pipeline.Frame, shown pipeline.Display) error {
	own, err := d.shape(f, shown)
	if err != nil {
		return err
	}
	if d.buffer = d.buffer[:0]; d.way.packed {
		d.buffer = yuyv(d.buffer, own)
	} else {
		d.buffer = packed(d.buffer, own)
	}
	if r := C.vf_output_write(d.fd, unsafe.Pointer(unsafe.SliceData(d.buffer)), C.size_t(len(d.buffer))); r < 0 {
		return fmt.Errorf("write to %s: %w", d.path, syscall.Errno(-r))
	}
	return nil
}

// yuyv appends the samples of a 4:2:2 frame, whose width is even, as Y, U, Y, V.
func yuyv(b []byte, f *pipeline.Frame) []byte {
	for row := range f.Height {
		y := f.Planes[0].Data[row*f.Planes[0].Pitch:][:f.Width]
		u, v := f.Planes[1].Data[row*f.Planes[1].Pitch:], f.Planes[2].Data[row*f.Planes[2].Pitch:]
		for x := 0; x < len(y); x += 2 {
			b = append(b, y[x], u[x/2], y[x+1], v[x/2])
		}
	}
	return b
}
