// Package pipeline moves frames from a source through filters into a sink: one goroutine a stage, bounded
// channels between them, frames in memory that a backend allocated. It knows no codec and no device.
package pipeline

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Source yields frames in presentation order. Next blocks and returns an owned frame, or io.EOF after
// the last one. It is used from one goroutine.
type Source interface {
	Next(ctx context.Context) (*Frame, error)
}

// Emit passes a finished frame on. It takes the frame, also when it fails, and blocks while the next
// stage is busy.
type Emit func(*Frame) error

// Filter turns frames into frames, in order. Process takes f and emits any number of frames, now or later;
// Flush emits what is held. Neither is called again after an error. Held says how many frames the filter
// may keep between calls: a pool must have room for that many and one more.
type Filter interface {
	Process(ctx context.Context, f *Frame, emit Emit) error
	Flush(ctx context.Context, emit Emit) error
	Held() int
}

// Sink consumes frames. Put takes the frame, also when it fails. Finish completes the output after the
// last Put; a sink that is closed without Finish leaves nothing behind.
type Sink interface {
	Put(ctx context.Context, f *Frame) error
	Finish(ctx context.Context) error
}

// Meter counts a stage's work while it runs; it may be read at any time from any goroutine.
type Meter struct {
	frames atomic.Int64
	busy   atomic.Int64
}

// Frames returns how many frames the stage has finished.
func (m *Meter) Frames() int64 { return m.frames.Load() }

// Busy returns the time that the stage has spent working, waiting for neighbours not included.
func (m *Meter) Busy() time.Duration { return time.Duration(m.busy.Load()) }

// Meters are the meters of a run. Filter adds up all filters of the chain.
type Meters struct{ Decode, Filter, Encode Meter }

// Options of Run; the zero value will do.
type Options struct {
	// Depth is how many frames wait between two stages; 1 when 0.
	Depth int
	// Stop, when closed, ends the stream as if the source had ended there: everything read so far is
	// filtered, written and finished.
	Stop <-chan struct{}
	// Meters receives the counts; may be nil.
	Meters *Meters
}

// Run moves every frame of src through the filters into sink and finishes the sink. It returns the first
// error of any stage, or the cause of ctx's cancellation. When it returns no stage is running and every
// frame has been released. A failed run never finishes the sink: the failing stage cancels first and only
// then closes its output, so that no stage takes a failure for the end of the stream.
func Run(ctx context.Context, src Source, filters []Filter, sink Sink, o Options) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	depth := max(o.Depth, 1)
	meters := o.Meters
	if meters == nil {
		meters = new(Meters)
	}

	var wg sync.WaitGroup
	start := func(in, out chan *Frame, stage func() error) {
		wg.Go(func() {
			if err := stage(); err != nil {
				cancel(err) // first of all: a closed channel must not read as the end of the stream
			}
			if out != nil {
				close(out)
			}
			if in != nil {
				drain(in)
			}
		})
	}
	out := make(chan *Frame, depth)
	start(nil, out, func() error { return produce(ctx, src, out, o.Stop, &meters.Decode) })
	for _, f := range filters {
		in, next := out, make(chan *Frame, depth)
		start(in, next, func() error { return process(ctx, f, in, next, &meters.Filter) })
		out = next
	}
	start(out, nil, func() error { return consume(ctx, sink, out, &meters.Encode) })
	wg.Wait()
	return context.Cause(ctx)
}

func produce(ctx context.Context, src Source, out chan<- *Frame, stop <-chan struct{}, m *Meter) error {
	for {
		select {
		case <-stop:
			return nil
		default:
		}
		t := time.Now()
		f, err := src.Next(ctx)
		m.busy.Add(int64(time.Since(t)))
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		m.frames.Add(1)
		if err := send(ctx, out, f); err != nil {
			return err
		}
	}
}

func process(ctx context.Context, filter Filter, in <-chan *Frame, out chan<- *Frame, m *Meter) error {
	var waited time.Duration
	emit := func(f *Frame) error {
		t := time.Now()
		m.frames.Add(1)
		err := send(ctx, out, f)
		waited += time.Since(t)
		return err
	}
	timed := func(step func() error) error {
		t := time.Now()
		waited = 0
		err := step()
		m.busy.Add(int64(time.Since(t) - waited))
		return err
	}
	for f := range in {
		if ctx.Err() != nil {
			f.Release()
			return context.Cause(ctx)
		}
		if err := timed(func() error { return filter.Process(ctx, f, emit) }); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return timed(func() error { return filter.Flush(ctx, emit) })
}

func consume(ctx context.Context, sink Sink, in <-chan *Frame, m *Meter) error {
	timed := func(step func() error) error {
		t := time.Now()
		err := step()
		m.busy.Add(int64(time.Since(t)))
		return err
	}
	for f := range in {
		if ctx.Err() != nil {
			f.Release()
			return context.Cause(ctx)
		}
		if err := timed(func() error { return sink.Put(ctx, f) }); err != nil {
			return err
		}
		m.frames.Add(1)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return timed(func() error { return sink.Finish(ctx) })
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
