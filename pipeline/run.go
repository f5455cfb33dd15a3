// Package pipeline moves frames from a source through filters into a sink: one goroutine per
// stage, bounded channels between them, frames in memory that a backend allocated. It knows no
// codec and no device: decode has sources, kernels filters and encode sinks. The example of
// package denoise joins them.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Source yields frames in presentation order. Next blocks and returns an owned frame, or io.EOF
// itself after the last one (an error that wraps io.EOF is a failure: the input broke off). When
// ctx ends, Next returns soon, with an error that wraps ctx.Err() or context.Cause(ctx). A source
// is for one goroutine.
type Source interface {
	Next(ctx context.Context) (*Frame, error)
}

// Emit passes a finished frame on. It takes the frame, also when it fails, and blocks while the
// next stage is busy. It must be called from the goroutine and during the call that it was passed
// to.
type Emit func(*Frame) error

// Filter turns frames into frames, in order. Process takes f, also when it fails, and emits any
// number of frames, now or later; Flush emits the rest. Neither is called again after an error.
// Held returns how many frames the filter may keep between calls: the source's pool must have room
// for that many and one more. If it is not 0, the filter must also be a Discarder. A filter needs a
// pool of its own for its frames: in a shared one, the source can take every block and leave the
// filter waiting for itself.
type Filter interface {
	Process(ctx context.Context, f *Frame, emit Emit) error
	Flush(ctx context.Context, emit Emit) error
	Held() int
}

// Discarder releases the frames that a Filter holds when a run fails, instead of Flush or after
// Flush failed. Discard is called once, on the filter's goroutine, possibly with no frames to
// release.
type Discarder interface{ Discard() }

// discards returns an error if a filter holds frames and is no Discarder.
func discards(f Filter) error {
	if _, ok := f.(Discarder); !ok && f.Held() > 0 {
		return fmt.Errorf("pipeline: filter %T holds frames but cannot discard them", f)
	}
	return nil
}

// Discard calls f's Discard, if it has one.
func Discard(f Filter) {
	if d, ok := f.(Discarder); ok {
		d.Discard()
	}
}

// Pass is a filter without changes.
type Pass struct{}

// Process emits f.
func (Pass) Process(_ context.Context, f *Frame, emit Emit) error { return emit(f) }

// Flush is empty.
func (Pass) Flush(context.Context, Emit) error { return nil }

// Held returns 0.
func (Pass) Held() int { return 0 }

// Sink consumes frames. Put takes the frame, also when it fails. Finish completes the output after
// the last Put. Run never closes a sink. Its owner does. A sink that is closed without Finish
// leaves no output.
type Sink interface {
	Put(ctx context.Context, f *Frame) error
	Finish(ctx context.Context) error
}

// Meter measures a stage while it runs; any goroutine may read it.
type Meter struct {
	frames atomic.Int64
	busy   atomic.Int64
}

// Frames returns how many frames the stage has passed on, or written, without context frames behind
// the filters.
func (m *Meter) Frames() int64 { return m.frames.Load() }

// Busy returns the time spent in the stage's calls, without waiting for a neighbour or for a block
// of a Pool, but with a source's waiting for its input.
func (m *Meter) Busy() time.Duration { return time.Duration(m.busy.Load()) }

// Meters are the meters of a run. Filter adds up the time of all filters, and counts the frames
// that the last one passes on.
type Meters struct{ Decode, Filter, Encode Meter }

// Options of Run. The zero value will do.
type Options struct {
	// Depth is how many frames wait between two stages; 0 means 1.
	Depth int
	// Stop, when closed, ends the stream as if the source had ended there: every frame that Next
	// has returned is filtered, written and finished. The context of a waiting Next ends.
	Stop <-chan struct{}
	// Meters receives the measurements; may be nil.
	Meters *Meters
}

// Run moves every frame of src through the filters into sink and finishes the sink, which sees no
// context frames. The filters of a Chain get a goroutine each. Run returns nil
// if Finish did, else the first error of any stage, or the cause of ctx's cancellation. When it
// returns, no stage is running and every frame has been released. A failed run never finishes the
// sink: the failing stage cancels first and only then closes its output, so that no stage takes a
// failure for the end of the stream.
func Run(ctx context.Context, src Source, filters []Filter, sink Sink, o Options) error {
	filters = takenApart(filters)
	for _, f := range filters {
		if err := discards(f); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	depth := max(o.Depth, 1)
	meters := o.Meters
	if meters == nil {
		meters = new(Meters)
	}

	var wg sync.WaitGroup
	start := func(in, out chan *Frame, discard func(), stage func() error) {
		wg.Go(func() {
			if err := stage(); err != nil {
				cancel(err) // first: a closed channel must not look like the end of the stream
				discard()
			}
			if out != nil {
				close(out)
			}
			if in != nil {
				drain(in)
			}
		})
	}
	keepsNone := func() {}
	first := make(chan *Frame, depth)
	start(nil, first, keepsNone, func() error { return produce(ctx, src, first, o.Stop, &meters.Decode) })
	last := first // earlier stages run with the variable of their own round
	for i, f := range filters {
		in, out := last, make(chan *Frame, depth)
		count := &meters.Filter.frames
		if i < len(filters)-1 {
			count = new(atomic.Int64)
		}
		start(in, out, func() { Discard(f) }, func() error { return process(ctx, f, in, out, &meters.Filter, count) })
		last = out
	}
	finished := false
	start(last, nil, keepsNone, func() error {
		err := consume(ctx, sink, last, &meters.Encode)
		finished = err == nil
		return err
	})
	wg.Wait()
	if finished { // a cancellation after Finish has no effect
		return nil
	}
	return context.Cause(ctx)
}

var errStopped = errors.New("pipeline: stopped")

func produce(ctx context.Context, src Source, out chan<- *Frame, stop <-chan struct{}, m *Meter) error {
	nextCtx, cancelNext := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancelNext(nil)
	if stop != nil {
		watch.Go(func() {
			select {
			case <-stop:
				cancelNext(errStopped)
			case <-nextCtx.Done():
			}
		})
	}
	stopped := func() bool {
		select {
		case <-stop:
			return true
		default:
			return false
		}
	}
	for !stopped() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var f *Frame
		err := m.time(nextCtx, func(ctx context.Context) (err error) {
			f, err = src.Next(ctx)
			return err
		})
		if err == io.EOF {
			return nil
		}
		if err != nil {
			// Only the interruption by stop counts as the end. Other errors stay errors.
			interrupted := errors.Is(err, errStopped) || errors.Is(err, context.Canceled)
			if interrupted && stopped() && ctx.Err() == nil {
				return nil
			}
			return err
		}
		if err := send(ctx, out, f); err != nil {
			return err
		}
		m.frames.Add(1)
	}
	return nil
}

func process(ctx context.Context, filter Filter, in <-chan *Frame, out chan<- *Frame, m *Meter, count *atomic.Int64) error {
	step := func(call func(context.Context, Emit) error) error {
		return m.time(ctx, func(ctx context.Context) error {
			return call(ctx, func(f *Frame) error {
				defer addWait(ctx, time.Now())
				isResult := !f.Context
				if err := send(ctx, out, f); err != nil {
					return err
				}
				if isResult {
					count.Add(1)
				}
				return nil
			})
		})
	}
	for f := range in {
		if ctx.Err() != nil {
			f.Release()
			return context.Cause(ctx)
		}
		err := step(func(ctx context.Context, emit Emit) error { return filter.Process(ctx, f, emit) })
		if err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := step(filter.Flush); err != nil {
		return err
	}
	// A filter that swallowed the error of emit has lost a frame. It must discard like any other.
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

func consume(ctx context.Context, sink Sink, in <-chan *Frame, m *Meter) error {
	for f := range in {
		if ctx.Err() != nil {
			f.Release()
			return context.Cause(ctx)
		}
		if f.Context {
			f.Release()
			continue
		}
		if err := m.time(ctx, func(ctx context.Context) error { return sink.Put(ctx, f) }); err != nil {
			return err
		}
		m.frames.Add(1)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return m.time(ctx, sink.Finish)
}

func send(ctx context.Context, out chan<- *Frame, f *Frame) error {
	select {
	case out <- f:
		return nil
	case <-ctx.Done():
		f.Release()
		return context.Cause(ctx)
	}
}

func drain(in <-chan *Frame) {
	for f := range in {
		f.Release()
	}
}

type waitKey struct{}

// time runs call and adds its time to busy, without time spent waiting. Calls below report waiting
// through their context, since a Pool may be reached through any number of layers.
func (m *Meter) time(ctx context.Context, call func(context.Context) error) error {
	waited := new(atomic.Int64)
	t := time.Now()
	err := call(context.WithValue(ctx, waitKey{}, waited))
	// Several goroutines of one stage may wait at once, and then for longer than the call took.
	m.busy.Add(max(0, int64(time.Since(t))-waited.Load()))
	return err
}

// addWait reports waiting since a time to the meter of ctx's stage, if any.
func addWait(ctx context.Context, since time.Time) {
	if w, ok := ctx.Value(waitKey{}).(*atomic.Int64); ok {
		w.Add(int64(time.Since(since)))
	}
}
