package decode

//#cgo pkg-config: libavdevice
//#include <stdlib.h>
//#include "glue.h"
//#include "v4l2.h"
import "C"

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"syscall"
	"time"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

// How long a camera may be silent before its first picture, as some take seconds to wake up, and
// after it.
const (
	firstPatience = 10 * time.Second
	laterPatience = 5 * time.Second
)

// lookEvery is how often a camera is asked for a picture: FFmpeg's own waiting cannot be ended.
const lookEvery = time.Millisecond

// registerDevices makes cameras known to FFmpeg.
var registerDevices = sync.OnceFunc(astiav.RegisterAllDevices)

// Camera is an open camera: a pipeline.Source that returns the newest picture. It is for one
// goroutine.
type Camera struct {
	path, name string
	mode       CameraMode
	fc         *astiav.FormatContext
	stream     *Stream
	pkt        *astiav.Packet
	latest     *astiav.Packet // read but not decoded yet, or empty

	patience, later time.Duration // how long it may be silent now, and after the first picture
	heard           time.Time     // time of the last packet
	whole           time.Time     // time of the last whole picture, or of the first packet
	bad             int           // damaged pictures in a row
	last            int64         // PTS

	// Dropped counts pictures with a newer one behind them when Next was called; Damaged counts
	// broken pictures, which are left out.
	Dropped, Damaged int64
}

// OpenCamera opens a V4L2 device and starts it in the best mode that o accepts. Without such a mode
// the error wraps ErrOption and lists the camera's modes. After ErrNoCamera or ErrBusy a later call
// may succeed. Frames are in memory of pool.
func OpenCamera(ctx context.Context, path string, pool *pipeline.Pool, o CameraOptions) (_ *Camera, err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	n, err := openNode(path)
	if err != nil {
		return nil, withOthers(path, err)
	}
	n.size, n.rate = [2]int{o.Width, o.Height}, o.FPS
	c := &Camera{path: path, name: n.name, patience: firstPatience, later: laterPatience}
	all := n.modes()
	n.close() // some drivers start no device that is open elsewhere
	mode, ok := choose(all, o)
	if !ok {
		return nil, notOffered(path, all, o)
	}
	if mode.FPS == 0 && o.FPS > 0 { // the driver does not report a rate, but may accept one
		mode.FPS, mode.rate = o.FPS, [2]int{int(math.Round(o.FPS * 1000)), 1000}
	}
	c.mode = mode
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	if err := c.start(o.Log); err != nil {
		return nil, withOthers(path, err)
	}
	if err := c.openStream(pool, o); err != nil {
		return nil, err
	}
	c.heard = time.Now()
	return c, nil
}

func notOffered(path string, all []CameraMode, o CameraOptions) error {
	if len(all) == 0 {
		return &Error{Op: "open", Path: path, Err: fmt.Errorf("%w: it has no format that this build knows", ErrNoCamera)}
	}
	asked := "pictures"
	if o.Format != "" {
		asked = o.Format
	}
	switch {
	case o.Width > 0 && o.Height > 0:
		asked += fmt.Sprintf(" %dx%d", o.Width, o.Height)
	case o.Width > 0:
		asked += fmt.Sprintf(" %d wide", o.Width)
	case o.Height > 0:
		asked += fmt.Sprintf(" %d high", o.Height)
	}
	if o.FPS > 0 {
		asked += " at " + fps(o.FPS) + " fps"
	}
	if o.MaxPixels > 0 {
		asked += fmt.Sprintf(" of at most %d pixels", o.MaxPixels)
	}
	return &Error{Op: "open", Path: path, Err: optionError("the camera does not offer " + asked), hint: "it offers " + offers(all)}
}

// start opens the camera with FFmpeg, which sets the mode and starts the stream without probing.
func (c *Camera) start(log *slog.Logger) error {
	registerDevices()
	format := astiav.FindInputFormat("v4l2")
	if format == nil {
		return &Error{Op: "open", Path: c.path, Err: errors.New("this build takes no cameras")}
	}
	c.fc = astiav.AllocFormatContext()
	if c.fc == nil {
		return &Error{Op: "open", Path: c.path, Err: errors.New("out of memory")}
	}
	// Each buffer of the driver is a picture with its own time.
	c.fc.SetFlags(astiav.NewFormatContextFlags(astiav.FormatContextFlagNonblock, astiav.FormatContextFlagNobuffer,
		astiav.FormatContextFlagNoparse, astiav.FormatContextFlagNofillin))
	dict := astiav.NewDictionary()
	defer dict.Free()
	set := func(k, v string) { _ = dict.Set(k, v, 0) }
	set("video_size", fmt.Sprintf("%dx%d", c.mode.Width, c.mode.Height))
	set("input_format", c.mode.Format)
	set("ts", "default") // the driver's own; vf_unix_time knows its clocks better
	if c.mode.rate[0] > 0 {
		set("framerate", fmt.Sprintf("%d/%d", c.mode.rate[0], c.mode.rate[1]))
	}
	if err := c.fc.OpenInput(c.path, format, dict); err != nil {
		c.fc = nil // OpenInput frees the context when it fails
		if no := av.Errno(err); no != 0 {
			_, group := isV4L2(c.path)
			return cameraError(c.path, syscall.Errno(no), group)
		}
		return &Error{Op: "open", Path: c.path, Err: err}
	}
	c.pkt, c.latest = astiav.AllocPacket(), astiav.AllocPacket()
	c.settle(log)
	return nil
}

// settle stores the mode that the driver has set.
func (c *Camera) settle(log *slog.Logger) {
	s := c.fc.Streams()[0]
	asked := c.mode
	c.mode.Width, c.mode.Height = s.CodecParameters().Width(), s.CodecParameters().Height()
	if r := s.AvgFrameRate(); r.Num() > 0 && r.Den() > 0 {
		c.mode.FPS = r.Float64()
	}
	if c.mode.Width != asked.Width || c.mode.Height != asked.Height || asked.FPS > 0 && (c.mode.FPS < 0.9*asked.FPS || c.mode.FPS > 1.1*asked.FPS) {
		log.Warn(fmt.Sprintf("the camera gives %v instead of %v", c.mode, asked))
	}
}

func (c *Camera) openStream(pool *pipeline.Pool, o CameraOptions) error {
	c.stream = &Stream{kind: c.mode.format.kind, threads: o.Threads, lost: true, describeTo: c.describeTo,
		rate: pipeline.Ratio{Num: c.mode.rate[0], Den: c.mode.rate[1]}}
	c.stream.decoder = decoder{logger: logger{c.path, o.Log}, pool: pool, maxPixels: o.MaxPixels}
	return c.stream.open()
}

// describeTo passes the driver's colours to a decoder, since raw pictures do not carry them.
func (c *Camera) describeTo(dec *astiav.CodecContext) error {
	if err := c.fc.Streams()[0].CodecParameters().ToCodecContext(dec); err != nil {
		return err
	}
	if !c.mode.format.kind.intra || c.mode.format.rank >= rankRGB {
		return nil
	}
	dec.SetColorSpace(astiav.ColorSpaceSmpte170M) // USB cameras' default
	dec.SetColorRange(astiav.ColorRangeMpeg)
	n, err := openNode(c.path)
	if err != nil {
		return nil // such drivers allow one user
	}
	defer n.close()
	var space, colours C.int
	if C.vf_v4l2_colour(n.fd, n.kind, &space, &colours) == 0 {
		dec.SetColorSpace(astiav.ColorSpace(space))
		dec.SetColorRange(astiav.ColorRange(colours))
	}
	return nil
}

// Name returns the camera's name for itself.
func (c *Camera) Name() string { return c.name }

// Format returns the mode in which the camera was started.
func (c *Camera) Format() CameraMode { return c.mode }

// Close stops the camera. Frames handed out stay valid. It may be called twice.
func (c *Camera) Close() {
	if c.stream != nil {
		c.stream.Close()
	}
	if c.pkt != nil {
		c.pkt.Free()
		c.latest.Free()
		c.pkt, c.latest = nil, nil
	}
	if c.fc != nil {
		c.fc.CloseInput() // after everything that may hold one of its buffers
		c.fc = nil
	}
}

// Next waits for a picture and returns the frame of the newest one, owned by the caller. PTS is the
// time when it was taken, in microseconds of Unix time. Soon after ctx ends Next returns the cause.
// An error that wraps ErrGone means that the camera was pulled out or is silent: close it.
func (c *Camera) Next(ctx context.Context) (*pipeline.Frame, error) {
	if c.fc == nil {
		return nil, &Error{Op: "read", Path: c.path, Err: errors.New("the camera is closed")}
	}
	var timer *time.Timer
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		f, err := c.newest()
		if f != nil || err != nil {
			return f, err
		}
		if timer == nil {
			timer = time.NewTimer(c.pause())
			defer timer.Stop()
		} else {
			timer.Reset(c.pause())
		}
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
}

// pause returns when to look again: at the earliest after half the interval of pictures.
func (c *Camera) pause() time.Duration {
	if c.mode.FPS <= 0 {
		return lookEvery
	}
	half := time.Duration(float64(time.Second) / c.mode.FPS / 2)
	return max(lookEvery, half-time.Since(c.heard))
}

// newest reads all pictures that the driver has and returns the last whole one, or nil.
func (c *Camera) newest() (newest *pipeline.Frame, err error) {
	const most = 64 // far more than drivers keep
	for range most {
		there, e := c.read()
		if err = e; !there || err != nil {
			break
		}
		if c.mode.format.kind.intra { // only the last one is worth decoding
			if c.latest.Size() > 0 {
				c.Dropped++
				c.latest.Unref()
			}
			c.latest.MoveRef(c.pkt)
		} else if newest, err = c.replace(newest, c.pkt); err != nil {
			break
		}
	}
	if err == nil && c.latest.Size() > 0 {
		newest, err = c.replace(newest, c.latest)
	}
	if err != nil && newest != nil {
		newest.Release()
		return nil, err
	}
	return newest, err
}

// replace decodes a packet. It returns its frame and releases old, or returns old without a frame.
func (c *Camera) replace(old *pipeline.Frame, p *astiav.Packet) (*pipeline.Frame, error) {
	f, err := c.decode(p)
	if f == nil {
		return old, err
	}
	if old != nil {
		c.Dropped++
		old.Release()
	}
	return f, nil
}

// read fills c.pkt; there is false while the driver has no picture.
func (c *Camera) read() (there bool, err error) {
	const (
		flicker = time.Second // drivers also report EIO for a loss of signal
		again   = "pull it out and plug it in again, or try another port"
	)
	err = c.fc.ReadFrame(c.pkt)
	silent := time.Since(c.heard)
	switch {
	case err == nil:
	case errors.Is(err, astiav.ErrEagain), av.Errno(err) == int(syscall.EIO) && silent < flicker:
		if silent > c.patience {
			return false, c.gone(fmt.Errorf("no picture for %v", c.patience), again)
		}
		return false, nil
	case av.Errno(err) == int(syscall.ENODEV):
		return false, c.gone(errors.New("it was pulled out"), "plug it in again")
	default:
		return false, c.gone(err, again)
	}
	c.heard, c.patience = time.Now(), c.later
	if c.whole.IsZero() {
		c.whole = c.heard
	}
	if c.pkt.Size() > 0 {
		return true, nil
	}
	c.pkt.Unref() // the driver knows that it is damaged
	return false, c.broken()
}

func (c *Camera) gone(why error, hint string) error {
	return &Error{Op: "read", Path: c.path, Err: fmt.Errorf("%w: %w", ErrGone, why), hint: hint}
}

// broken counts a damaged picture. It is an error after a long time without a whole one.
func (c *Camera) broken() error {
	const enough = 5
	c.Damaged++
	if c.bad++; c.bad == enough && c.mode.format.kind.id == astiav.CodecIDMjpeg {
		// A camera that breaks the rules in every picture is not damaged.
		c.stream.dec.SetErrorRecognitionFlags(0)
	}
	if time.Since(c.whole) < c.patience {
		return nil
	}
	return c.gone(errors.New("only damaged pictures come"), "try another cable or port, or another format")
}

// decode returns nil if a packet gives no picture. It empties the packet.
func (c *Camera) decode(p *astiav.Packet) (f *pipeline.Frame, err error) {
	at := c.time(p.Pts())
	p.SetPts(at)
	if c.mode.format.kind.intra {
		f, err = c.stream.take(p)
	} else {
		f, err = c.stream.Decode(payload(p), at)
		p.Unref()
	}
	if errors.Is(err, ErrUnreadable) {
		return nil, c.broken()
	}
	if f == nil || err != nil {
		return nil, err
	}
	c.whole, c.bad = time.Now(), 0
	if c.mode.FPS > 0 {
		f.Duration = int64(float64(second) / c.mode.FPS)
	}
	return f, nil
}

// time converts a driver's time to Unix time, later than that of the picture before even if clocks
// are set.
func (c *Camera) time(stamp int64) int64 {
	t := int64(C.vf_unix_time(C.int64_t(stamp)))
	if t == 0 {
		t = int64(C.vf_unix_now())
	}
	if t <= c.last && t > c.last-second {
		t = c.last + 1
	}
	c.last = t
	return t
}
