package gpu

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"vidfilter/denoise/device"
	fields "vidfilter/interlace/device"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// Options configure a backend. The zero value uses the first usable device.
type Options struct {
	Indexes  []int         // devices that share the work
	All      bool          // every usable device, if Indexes is empty
	Streams  int           // for kernels, per device, up to MaxStreams; 0: chosen automatically
	Patience time.Duration // how long a driver call may take; 0: 30 seconds
	Log      *slog.Logger  // details; nil drops them
}

// MaxStreams is the maximum number of streams for kernels per device.
const MaxStreams = 8

// autoStreams lets the next frame's kernels fill multiprocessors that a kernel's last blocks leave
// idle. Copies overlap kernels with any number.
const autoStreams = 3

// Backend filters on one or more GPUs. It distributes frames round-robin to the devices and returns
// them in order. It may be used from any goroutine.
type Backend struct {
	*common
	units []*openDevice // all, or the one of a share
}

// common is the state that a backend and its shares have in common.
type common struct {
	all     []*openDevice
	streams int
	log     *slog.Logger
	blocks  blocks
	meter   meter
	begun   time.Time // when Open was called

	ordinaryOnce sync.Once

	warming sync.WaitGroup

	closing sync.RWMutex
	closed  bool
	filters map[pipeline.Discarder]struct{} // those with resources on a device; guarded by mu
	mu      sync.Mutex
}

var _ kernels.Backend = (*Backend)(nil)

// Open opens devices until Close, which takes a few tenths of a second each. Errors wrap
// ErrDevice. The caller must close the backend.
func Open(o Options) (*Backend, error) {
	b := &Backend{common: &common{
		streams: cmp.Or(o.Streams, autoStreams), log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		filters: map[pipeline.Discarder]struct{}{}, begun: time.Now(),
	}}
	if b.streams < 1 || b.streams > MaxStreams {
		return nil, &Error{Text: fmt.Sprintf("gpu: %d streams: 1 to %d can be", o.Streams, MaxStreams)}
	}
	devices, err := choose(o)
	if err != nil {
		return nil, err
	}
	b.meter.started(func(c *ColdStart) *time.Duration { return &c.Driver }, b.begun)
	start := time.Now()
	if err := b.open(devices, o); err != nil {
		_ = b.Close()
		return nil, err
	}
	b.meter.started(func(c *ColdStart) *time.Duration { return &c.Context }, start)
	return b, nil
}

// choose returns the devices to open: all usable ones by default.
func choose(o Options) ([]Device, error) {
	all, err := Devices()
	if err != nil {
		return nil, err
	}
	if len(o.Indexes) > 0 {
		return named(all, o.Indexes)
	}
	usable := slices.DeleteFunc(slices.Clone(all), func(d Device) bool { return d.Usable() != nil })
	if len(usable) == 0 {
		return nil, all[0].Usable()
	}
	return usable, nil
}

func named(all []Device, indexes []int) (some []Device, err error) {
	for _, i := range indexes {
		if i < 0 || i >= len(all) {
			return nil, &Error{Text: fmt.Sprintf("there is no cuda:%d: this machine has cuda:0 to cuda:%d", i, len(all)-1)}
		}
		if err := all[i].Usable(); err != nil {
			return nil, err
		}
		some = append(some, all[i])
	}
	return some, nil
}

// open opens the devices, or only the first that opens if any one will do.
func (b *Backend) open(devices []Device, o Options) error {
	one := len(o.Indexes) == 0 && !o.All
	var first error
	for _, d := range devices {
		u, err := openUnit(d, cmp.Or(o.Patience, defaultPatience))
		if err == nil {
			b.all = append(b.all, u)
			b.units = b.all
		} else if first == nil {
			first = err
		}
		if one && err == nil {
			return nil
		}
	}
	return first
}

// Share returns a backend of the device with the fewest shares, for one of several streams that are
// filtered side by side: its frames stay on that device. Its results do not depend on the device,
// since its limits are the strictest of all. end gives the device back; only b itself may be
// closed.
func (b *Backend) Share() (share *Backend, end func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	u := slices.MinFunc(b.units, func(u, v *openDevice) int { return cmp.Compare(u.shares, v.shares) })
	u.shares++
	return &Backend{b.common, []*openDevice{u}}, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		u.shares--
	}
}

// Name returns a description such as "cuda:0 (NVIDIA H200, 2 streams)".
func (b *Backend) Name() string {
	var names, models []string
	for _, u := range b.units {
		names = append(names, u.String())
		if !slices.Contains(models, u.Device.Name) {
			models = append(models, u.Device.Name)
		}
	}
	unit := "streams"
	if b.streams == 1 {
		unit = "stream"
	}
	return fmt.Sprintf("%s (%s, %d %s)", strings.Join(names, " and "), strings.Join(models, ", "), b.streams, unit)
}

// Devices returns how many devices share the work.
func (b *Backend) Devices() int { return len(b.units) }

// form is how a stage filters.
type form interface {
	kernels() ([]kernels.Variant, error) // that it needs at first
	held() int
	filter(pool *pipeline.Pool) (pipeline.Filter, error)
}

// formOf returns the form of a stage on the backend's devices, or on the host if the stage needs no
// device.
func (b *Backend) formOf(s kernels.Stage) (form, error) {
	if err := kernels.Validate(s); err != nil {
		return nil, err
	}
	switch s := s.(type) {
	case kernels.Denoise:
		return denoised{b, s}, nil
	case kernels.Deinterlace:
		return deinterlaced{b, s}, nil
	case kernels.Planned:
		return planned{b, s}, nil
	case kernels.OnHost:
		return hosted{s}, nil
	}
	return nil, &Error{Text: fmt.Sprintf("the %s filter has no form for GPUs", s.Filter())}
}

// hosted is the form of a stage that needs no device.
type hosted struct{ kernels.OnHost }

func (hosted) kernels() ([]kernels.Variant, error) { return nil, nil }

func (hosted) held() int { return 0 }

func (h hosted) filter(pool *pipeline.Pool) (pipeline.Filter, error) {
	return h.OnHost.OnHost(pool, kernels.Setting{})
}

// Held returns how many results the filter for s keeps between calls. The pool of results needs
// room for as many in addition to those held by others, or the streams and devices wait for each
// other.
func (b *Backend) Held(s kernels.Stage) int {
	f, err := b.formOf(s)
	if err != nil {
		return 0
	}
	return f.held()
}

func (b *Backend) held() int { return queued * b.streams * len(b.units) }

// Free returns how much memory is free on the device that has least, 0 if unknown.
func (b *Backend) Free() int64 {
	least := int64(math.MaxInt64)
	for _, u := range b.units {
		free, err := u.free()
		if err != nil {
			return 0
		}
		least = min(least, free)
	}
	return least
}

// Limits returns limits that hold for all devices, also of a share. Every frame is filtered by the
// same plan on any device, since kernels for newer devices and larger pieces round differently.
func (b *Backend) Limits() kernels.Limits {
	all := b.all[0].limits.Limits
	for _, u := range b.all {
		all = all.Least(u.limits.Limits)
	}
	return all
}

// Warm starts compiling the kernel that Filter will need for s and returns immediately. Errors
// are reported when the kernel is used.
func (b *Backend) Warm(s kernels.Stage) {
	b.warming.Go(func() { _ = b.compile(s) })
}

// Prepare waits until all devices have the kernel that Filter will need for s, or ctx ends.
// Compiling takes a few tenths of a second, on a separate thread that does not hold up frames.
func (b *Backend) Prepare(ctx context.Context, s kernels.Stage) error {
	done := make(chan error, 1)
	b.warming.Go(func() { done <- b.compile(s) })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// CompileAll compiles every kernel that a filter may choose on these devices, unless the driver
// has it cached, and returns how many there are.
func (b *Backend) CompileAll(ctx context.Context) (n int, err error) {
	seen := map[string]bool{}
	for _, f := range kernels.Filters() {
		stages := []kernels.Stage{f.New()}
		if v, ok := stages[0].(kernels.Varied); ok {
			stages = v.Every()
		}
		for _, s := range stages {
			all, err := b.choose(s)
			if err != nil {
				return n, err
			}
			if len(all) == 0 || seen[all[0].Name] {
				continue
			}
			seen[all[0].Name] = true
			if err := b.Prepare(ctx, s); err != nil {
				return n, err
			}
			n += len(all)
		}
	}
	others := append(device.Deep(), fields.Library.Variants()...)
	return n + len(others), b.load(others)
}

func (b *Backend) compile(s kernels.Stage) error {
	all, err := b.choose(s)
	if err != nil {
		return err
	}
	return b.load(all)
}

func (b *Backend) load(all []kernels.Variant) error {
	for _, u := range b.units {
		if err := u.loadAll(all); err != nil {
			return u.failed(err, "load kernels on %s", u)
		}
	}
	return nil
}

// Can returns nil if the backend can filter by s, or the reason why not.
func (b *Backend) Can(s kernels.Stage) error {
	_, err := b.choose(s)
	return err
}

// choose returns the kernels that s needs at first.
func (b *Backend) choose(s kernels.Stage) ([]kernels.Variant, error) {
	f, err := b.formOf(s)
	if err != nil {
		return nil, err
	}
	return f.kernels()
}

// Filter returns a filter that keeps up to Held frames between calls. It needs at least one block
// of pool; with fewer than Held, it uses fewer streams. Frames in the backend's memory are copied
// fastest, but any memory works. Its errors wrap ErrDevice unless they are the context's or the
// pool's.
func (b *Backend) Filter(s kernels.Stage, pool *pipeline.Pool) (pipeline.Filter, error) {
	f, err := b.formOf(s)
	if err != nil {
		return nil, err
	}
	if _, err := f.kernels(); err != nil {
		return nil, err
	}
	return f.filter(pool)
}

// FilterBy is Filter with any planner, which is called again whenever the frame format changes.
func (b *Backend) FilterBy(plan kernels.Planner, pool *pipeline.Pool) pipeline.Filter {
	return &filter{backend: b, pool: pool, planner: plan}
}

// Close frees everything that the backend holds on its devices, and its pinned memory. It may be
// called more than once.
func (b *Backend) Close() error {
	b.mu.Lock()
	left := b.filters
	b.filters = map[pipeline.Discarder]struct{}{}
	b.mu.Unlock()
	for f := range left {
		f.Discard()
	}
	b.warming.Wait() // a kernel cannot be unloaded while it is compiled
	b.closing.Lock()
	defer b.closing.Unlock()
	if b.closed {
		return nil
	}
	b.closed = true
	var first error
	for _, u := range b.all {
		if err := u.close(); first == nil {
			first = err
		}
	}
	return first
}

// using records whether a filter holds device resources that Close must free.
func (b *Backend) using(f pipeline.Discarder, yes bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if yes {
		b.filters[f] = struct{}{}
		return
	}
	delete(b.filters, f)
}
