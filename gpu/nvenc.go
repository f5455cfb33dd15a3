package gpu

// #include <stdlib.h>
// #include "nvenc.h"
// #include <ffnvcodec/nvEncodeAPI.h>
import "C"

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"gorgonia.org/cu"

	"vidfilter/gpu/surface"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// Hints about NVENC. Errors give the way to do without.
const (
	hintSoftware = "--codec h264, hevc or av1 without --hwaccel nvenc encodes on the CPU"
	hintChips    = "vidfilter devices lists what each GPU encodes, --device cuda:N chooses one; most GeForce, RTX and L cards have it, data centre cards such as the A100 and H100 do not; " + hintSoftware
	hintSessions = "GeForce cards have a limit for all programs together: end others that encode, or run fewer jobs at once; " + hintSoftware
	hintEncode   = hintVideo + "; " + hintSoftware
	hintNewer    = hintDriver + " (Linux: 530.41 or later); " + hintSoftware
)

// loadNVENC loads the driver's library for encoding, and checks its version.
func loadNVENC() (*C.struct_vf_nvenc, error) {
	l := C.vf_nvenc()
	if l.load_error != nil {
		why := C.GoString(l.load_error)
		if strings.Contains(why, "libnvidia-encode.so.1: cannot open shared object file: No such file") {
			return nil, &Error{Text: "the driver's library for encoding (libnvidia-encode.so.1) is not here", hint: hintEncode, nvenc: ErrNVENCLacks}
		}
		return nil, &Error{Text: "the driver's library for encoding does not load: " + why, hint: hintNewer, nvenc: ErrNVENCLacks}
	}
	var version C.uint
	if status := C.vf_encode_has(l, &version); status != 0 {
		return nil, &Error{Text: "the driver's library for encoding does not tell its version: " + statusText(status), hint: hintNewer, nvenc: ErrNVENC}
	}
	if needs := C.vf_encode_needs; version < needs {
		return nil, &Error{Text: fmt.Sprintf("the driver is too old: it has NVENC %d.%d, and %d.%d is needed",
			version>>4, version&15, needs>>4, needs&15), hint: hintNewer, nvenc: ErrNVENCLacks}
	}
	return l, nil
}

// statusText describes an NVENCSTATUS that needs no words of its own.
func statusText(status C.int) string {
	switch status {
	case C.NV_ENC_ERR_OUT_OF_MEMORY:
		return "out of memory"
	case C.NV_ENC_ERR_GENERIC:
		return "NVENC does not say what is wrong"
	}
	return fmt.Sprintf("NVENC error %d", int(status))
}

// session opens a session for questions alone. It must be called where the unit's context is
// current.
func (u *openDevice) session(do func(*C.struct_vf_session) C.int) error {
	l, err := loadNVENC()
	if err != nil {
		return err
	}
	var context C.CUcontext
	if err := result(C.cuCtxGetCurrent(&context)); err != nil {
		return u.failed(err, "ask %s what it encodes", u)
	}
	var s *C.struct_vf_session
	switch status := C.vf_session_open(l.instance, context, &s); status {
	case C.NV_ENC_SUCCESS:
	case C.NV_ENC_ERR_NO_ENCODE_DEVICE, C.NV_ENC_ERR_UNSUPPORTED_DEVICE:
		return &Error{Text: fmt.Sprintf("%s (%s) has no NVENC", u, u.Device.Name), hint: hintChips, nvenc: ErrNVENCLacks}
	case C.NV_ENC_ERR_OUT_OF_MEMORY, C.NV_ENC_ERR_INCOMPATIBLE_CLIENT_KEY:
		return &Error{Text: fmt.Sprintf("NVENC on %s opens no further session: as many are open as the driver allows, or the GPU's memory is full", u),
			hint: hintSessions, nvenc: ErrNVENCFull}
	case C.NV_ENC_ERR_INVALID_VERSION:
		return &Error{Text: "the driver is too old for NVENC as FFmpeg uses it", hint: hintNewer, nvenc: ErrNVENCLacks}
	default:
		return &Error{Op: fmt.Sprintf("gpu: open a session of NVENC on %s", u), Text: statusText(status), hint: hintSoftware, nvenc: ErrNVENC}
	}
	defer C.vf_session_close(s)
	if status := do(s); status != 0 {
		return &Error{Op: fmt.Sprintf("gpu: ask NVENC on %s what it encodes", u), Text: statusText(status), hint: hintSoftware, nvenc: ErrNVENC}
	}
	return nil
}

// encodes asks NVENC for its limits for codecs, by FFmpeg's names.
func (u *openDevice) encodes(codecs ...string) (all []Coding, err error) {
	err = u.session(func(s *C.struct_vf_session) C.int {
		for _, codec := range codecs {
			name := C.CString(codec)
			defer C.free(unsafe.Pointer(name))
			var c C.struct_vf_encode_caps
			if status := C.vf_session_caps(s, name, &c); status != 0 {
				return status
			}
			caps := Caps{int(c.engines), int(c.min_width), int(c.min_height), int(c.width), int(c.height), int(c.macroblocks)}
			for _, kind := range []struct {
				chroma, depth int
				has           bool
			}{{420, 8, true}, {420, 10, c.deep > 0}, {444, 8, c.full > 0}, {444, 10, c.deep > 0 && c.full > 0}} {
				if c.supported > 0 && kind.has {
					all = append(all, Coding{codec, kind.chroma, kind.depth, caps})
				}
			}
		}
		return 0
	})
	return all, err
}

// Encodes lists the kinds of video that the device encodes. It opens the device briefly.
func (d Device) Encodes() ([]Coding, error) {
	return briefly(d, func(u *openDevice) ([]Coding, error) {
		return call(context.Background(), u.work, func() ([]Coding, error) { return u.encodes("h264", "hevc", "av1") })
	})
}

// Encoding lets an encoder take pictures from the memory of a device, by the backend's filters or
// copied from the host. It is for one encoder, which must be freed before it is closed.
type Encoding struct {
	*surfaceCopier
	backend *Backend
	staging buffer // for samples from the host

	mu    sync.Mutex
	known map[string][]Coding // by codec
}

var _ pipeline.Discarder = (*Encoding)(nil)

// Encoding returns an encoding on the first device that has NVENC, and a place for a session.
func (b *Backend) Encoding() (*Encoding, error) {
	var refused error
	for _, u := range b.units {
		err := u.work.do(func() error { return u.session(func(*C.struct_vf_session) C.int { return 0 }) })
		if err == nil {
			return b.newEncoding(u)
		}
		if refused == nil || errors.Is(refused, ErrNVENCLacks) && !errors.Is(err, ErrNVENCLacks) {
			refused = u.failed(err, "prepare to encode on %s", u)
		}
	}
	return nil, refused
}

func (b *Backend) newEncoding(u *openDevice) (*Encoding, error) {
	c, err := newSurfaceCopier(u)
	if err != nil {
		return nil, u.failed(err, "prepare to encode on %s", u)
	}
	e := &Encoding{surfaceCopier: c, backend: b, known: map[string][]Coding{}}
	b.using(e, true)
	return e, nil
}

// Encodes returns the device's limits for a codec, by FFmpeg's name.
func (e *Encoding) encodes(codec string) ([]Coding, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if all, ok := e.known[codec]; ok {
		return all, nil
	}
	all, err := call(context.Background(), e.thread, func() ([]Coding, error) { return e.unit.encodes(codec) })
	if err == nil {
		e.known[codec] = all
	}
	return all, err
}

// Supports returns nil if the device encodes frames of the layout to such video, or the reason why
// not, which wraps ErrDevice. The codec is FFmpeg's name of it.
func (e *Encoding) Supports(codec string, l pipeline.Layout, width, height int) error {
	all, err := e.encodes(codec)
	if err != nil {
		return err
	}
	for _, c := range all {
		if surface.Joins(l) && c.Chroma == chromaOf(l) && c.Depth == l.Info().Depth {
			err := c.allows(width, height, "encode")
			if err == nil {
				return nil
			}
			refused := e.refuse(fmt.Sprintf("NVENC cannot encode %dx%d: %v", width, height, err))
			if codec == "h264" && e.Supports("hevc", l, width, height) == nil {
				refused.hint = "--codec hevc --hwaccel nvenc takes it; " + refused.hint
			}
			return refused
		}
	}
	if len(all) == 0 {
		return e.refuse(fmt.Sprintf("NVENC on %s (%s) does not encode %s", e.unit, e.unit.Device.Name, codec))
	}
	return e.refuse(fmt.Sprintf("NVENC on %s (%s) does not encode %s of %s", e.unit, e.unit.Device.Name, codec, l))
}

func (e *Encoding) refuse(text string) *Error {
	return &Error{Text: text, hint: hintSoftware, nvenc: ErrNVENCLacks}
}

// Call makes a call of FFmpeg's encoder, and waits for it as long as for a driver call.
func (e *Encoding) Call(f func() error) error {
	err := e.thread.do(f)
	if !errors.Is(err, errSilent) {
		return err
	}
	silent, _ := errors.AsType[*Error](e.unit.failed(err, "encode on %s", e.unit))
	silent.hint, silent.nvenc = silent.hint+"; "+hintSoftware, ErrNVENC
	return silent
}

// Failed describes an error of the encoder, in an operation with a frame: FFmpeg's, or the
// system's, and the reason that it gave in its log, which may be empty. Where a session cannot be
// opened that is the reason.
func (e *Encoding) Failed(err error, op, said string) error {
	if errors.As(err, new(*Error)) {
		return err
	}
	failed := &Error{Op: fmt.Sprintf("gpu: %s on %s", op, e.unit), Text: err.Error(), hint: hintSoftware, nvenc: ErrNVENC}
	if said != "" {
		failed.Text = "NVENC: " + strings.TrimSuffix(said, ": (no details)")
	}
	if errors.Is(err, syscall.ENOMEM) {
		failed.Text, failed.hint = "out of memory", hintMemory+"; "+hintSoftware
	}
	if strings.HasPrefix(said, "OpenEncodeSessionEx") {
		if why := e.thread.do(func() error { return e.unit.session(func(*C.struct_vf_session) C.int { return 0 }) }); errors.As(why, new(*Error)) {
			return why
		}
	}
	return failed
}

// Give fills a surface of the encoder's with the samples of a frame, and returns when it is done.
// Both are the caller's.
func (e *Encoding) Give(f *pipeline.Frame, to pipeline.Surface) error {
	p := e.backend.placeOf(f, e.unit)
	var pins runtime.Pinner
	for i := range f.NumPlanes() {
		if !p.pinned {
			pins.Pin(&f.Planes[i].Data[0])
		}
	}
	defer pins.Unpin()
	err := e.thread.do(func() error {
		err := e.queue(f, p, to)
		if err != nil {
			_ = e.stream.Synchronize()
		}
		return err
	})
	return e.unit.failed(err, "give a picture to the encoder on %s, %s", e.unit, f.Format)
}

func (e *Encoding) queue(f *pipeline.Frame, p place, to pipeline.Surface) error {
	from := cu.DevicePtr(f.Device.Address)
	if f.Device.Owner != any(e.unit) {
		if err := e.staging.grow(e.unit, p.size); err != nil {
			return err
		}
		from = e.staging.address
		for _, r := range p.at(from) {
			if err := r.in(e.stream); err != nil {
				return err
			}
		}
	}
	if err := e.run(f.Layout.Info().SampleBytes(), surface.Join(p.planes(from), f.Format, to)); err != nil {
		return err
	}
	return e.wait()
}

// Host returns a frame with the samples in the host's memory: f itself with one more owner, or a
// copy.
func (e *Encoding) Host(f *pipeline.Frame) (*pipeline.Frame, error) {
	if f.Planes[0].Data != nil {
		return f.Retain(), nil
	}
	_, _, size := f.PlanLayout(pipeline.PitchAlign)
	m, err := allocOrdinary(size)
	if err != nil {
		return nil, err
	}
	err = e.thread.do(func() error {
		if err := cu.MemcpyDtoHAsync(pointerTo(m), cu.DevicePtr(f.Device.Address), int64(size), e.stream); err != nil {
			return err
		}
		return e.wait()
	})
	if err != nil {
		m.Free()
		return nil, e.unit.failed(err, "copy a picture from %s, %s", e.unit, f.Format)
	}
	host := pipeline.FrameIn(m.Bytes, f.Format, nil, m.Free)
	host.CopyTiming(f)
	return host, nil
}

// Close frees the encoding's memory on the device. It may be called more than once, also after the
// backend's own.
func (e *Encoding) Close() {
	e.backend.using(e, false)
	e.Discard()
}

// Discard is Close, for the backend's end.
func (e *Encoding) Discard() { e.close(e.staging.free) }

// Beside reports whether the frames of a backend are on the encoding's device. Frames of others
// come through the host's memory.
func (e *Encoding) Beside(b kernels.Backend) bool {
	own, ok := b.(*Backend)
	return ok && len(own.units) == 1 && own.units[0] == e.unit
}

// KeepResults keeps a pool's frames in device memory only, for layouts that encoders take. The pool
// is for results that an encoding on the same device takes.
func (b *Backend) KeepResults(p *pipeline.Pool) { p.OnDevice(results{b}, surface.Joins) }

// KeepBetween keeps a pool's frames in device memory only. The backend must use a single device.
// The pool is for results that another filter of this backend takes.
func (b *Backend) KeepBetween(p *pipeline.Pool) {
	p.OnDevice(results{b}, func(pipeline.Layout) bool { return true })
}

// KeepBoth keeps a pool's frames in host memory and in device memory. The backend must use a single
// device. The pool is for results that another filter of this backend takes and the CPU reads.
func (b *Backend) KeepBoth(p *pipeline.Pool) {
	p.OnDevice(inBoth{b}, func(pipeline.Layout) bool { return true })
}

// inBoth allocates host memory together with device memory.
type inBoth struct{ *Backend }

func (b inBoth) Alloc(size int) (pipeline.Memory, error) {
	host, err := b.Backend.Alloc(size)
	if err != nil {
		return pipeline.Memory{}, err
	}
	onDevice, err := results(b).Alloc(size)
	if err != nil {
		host.Free()
		return pipeline.Memory{}, err
	}
	return pipeline.Memory{Bytes: host.Bytes, Device: onDevice.Device, Free: func() {
		onDevice.Free()
		host.Free()
	}}, nil
}

type results struct{ *Backend }

func (r results) Alloc(size int) (pipeline.Memory, error) {
	u := r.units[0]
	b, err := call(context.Background(), u.work, func() (b buffer, err error) {
		err = b.grow(u, size)
		return b, err
	})
	if err != nil {
		return pipeline.Memory{}, u.failed(err, "allocate %s on %s", megabytes(int64(size)), u)
	}
	return pipeline.Memory{
		Device: pipeline.DeviceSamples{Owner: u, Address: uint64(b.address)},
		Free:   func() { r.release(b, u) },
	}, nil
}
