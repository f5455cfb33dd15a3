package gpu

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// Options of a backend; the zero value takes the first device that can be used.
type Options struct {
	Indexes  []int         // the devices to share the work
	All      bool          // all devices that can be used, where Indexes is empty
	Streams  int           // of each device, up to MaxStreams; 0: as many as serve best
	Patience time.Duration // how long a device may be silent; 0: half a minute
	Verbose  func(format string, args ...any)
}

// MaxStreams is the most that a device may have.
const MaxStreams = 8

// autoStreams is enough for one frame to be copied while the kernel works on another.
const autoStreams = 2

// Backend filters on one GPU or several. Frames go to the devices and to their streams by turns, and come
// back in order. It may be used from any goroutine.
type Backend struct {
	units   []*unit
	streams int
	verbose func(format string, args ...any)
	blocks  blocks
	meter   meter
	begun   time.Time // Open

	tellOrdinary sync.Once

	warming sync.WaitGroup

	closing sync.RWMutex
	closed  bool
	filters map[*filter]struct{} // with something on a device; guarded by mu
	mu      sync.Mutex
}

var _ kernels.Backend = (*Backend)(nil)

// Open opens devices for good, which takes some tenths of a second each. Errors wrap ErrDevice. The caller
// closes the backend.
func Open(o Options) (*Backend, error) {
	b := &Backend{streams: o.Streams, verbose: o.Verbose, filters: map[*filter]struct{}{}, begun: time.Now()}
	if b.streams == 0 {
		b.streams = autoStreams
	}
	if b.streams < 1 || b.streams > MaxStreams {
		return nil, &Error{Text: fmt.Sprintf("gpu: %d streams: 1 to %d can be", o.Streams, MaxStreams)}
	}
	if b.verbose == nil {
		b.verbose = func(string, ...any) {}
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

// choose returns the devices to open; where o names none, all that can be used.
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

// open opens the devices, or the first of them that opens where any will do.
func (b *Backend) open(devices []Device, o Options) error {
	patience := o.Patience
	if patience == 0 {
		patience = defaultPatience
	}
	one := len(o.Indexes) == 0 && !o.All
	var first error
	for _, d := range devices {
		u, err := openUnit(d, patience)
		if err == nil {
			b.units = append(b.units, u)
		} else if first == nil {
			first = err
		}
		if one && err == nil {
			return nil
		}
	}
	return first
}

// Name returns a line such as "cuda:0 (NVIDIA H200, 2 streams)".
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

// Held returns how many frames the backend's filters keep between calls: results must have room for as many
// beside those that others hold, or the streams wait for each other.
func (b *Backend) Held() int { return queued * b.streams * len(b.units) }

// compute returns the compute capability that all devices have: kernels for a newer one round differently,
// and a frame must not depend on the device that it went to.
func (b *Backend) compute() int {
	lowest := b.units[0].Compute
	for _, u := range b.units {
		lowest = min(lowest, u.Compute)
	}
	return lowest
}

// Warm begins to compile the kernel that Filter will want for p, and returns at once. What goes wrong shows when the kernel is used.
func (b *Backend) Warm(p kernels.Params) {
	b.warming.Go(func() { _ = b.compile(p) })
}

// Prepare returns when all devices have the kernel that Filter will want for p, or ctx ends; compiling one takes some tenths of a
// second, on a thread of its own: frames are not held up by it.
func (b *Backend) Prepare(ctx context.Context, p kernels.Params) error {
	done := make(chan error, 1)
	b.warming.Go(func() { done <- b.compile(p) })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// CompileAll compiles every kernel that the filter may choose on these devices, as far as the driver has not kept them from before, and
// returns how many there are.
func (b *Backend) CompileAll(ctx context.Context) (n int, err error) {
	seen := map[string]bool{}
	for _, p := range append(kernels.AllParams(), kernels.DefaultRecursive()) {
		v, err := kernels.Choose(p, pipeline.Format{}, b.compute())
		if err != nil {
			return n, failed(err, "choose a kernel")
		}
		if seen[v.Name] {
			continue
		}
		seen[v.Name] = true
		if err := b.Prepare(ctx, p); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func (b *Backend) compile(p kernels.Params) error {
	v, err := b.choose(p)
	if err != nil {
		return err
	}
	for _, u := range b.units {
		if err := u.compiler.do(func() error { _, err := u.load(v); return err }); err != nil {
			return u.failed(err, "load %s on %s", v.Name, u)
		}
	}
	return nil
}

// Can reports why the devices cannot do what p asks for; nil where they can.
func (b *Backend) Can(p kernels.Params) error {
	_, err := b.choose(p)
	return err
}

// choose returns the kernel for p.
func (b *Backend) choose(p kernels.Params) (kernels.Variant, error) {
	if err := p.Validate(); err != nil {
		return kernels.Variant{}, err
	}
	v, err := kernels.Choose(p, pipeline.Format{}, b.compute())
	return v, failed(err, "choose a kernel")
}

// Filter returns a filter that keeps up to Held frames between calls and needs one block of pool at
// least; with fewer than Held, fewer of the streams are in use. Frames in memory of the backend are copied
// fastest, others work too. Its errors wrap ErrDevice where they are not the context's or the pool's.
func (b *Backend) Filter(p kernels.Params, pool *pipeline.Pool) (pipeline.Filter, error) {
	if err := b.Can(p); err != nil {
		return nil, err
	}
	return &filter{backend: b, pool: pool, params: p, last: map[*unit]*marks{}}, nil
}

// Close frees all that the backend has on its devices, and its pinned memory. It may be called twice.
func (b *Backend) Close() error {
	b.mu.Lock()
	left := b.filters
	b.filters = map[*filter]struct{}{}
	b.mu.Unlock()
	for f := range left {
		f.Discard()
	}
	b.warming.Wait() // what is half compiled could not be unloaded
	b.closing.Lock()
	defer b.closing.Unlock()
	if b.closed {
		return nil
	}
	b.closed = true
	var first error
	for _, u := range b.units {
		if err := u.close(); first == nil {
			first = err
		}
	}
	return first
}

// using notes whether a filter has something on a device that Close must free.
func (b *Backend) using(f *filter, yes bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if yes {
		b.filters[f] = struct{}{}
		return
	}
	delete(b.filters, f)
}
