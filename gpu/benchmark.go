package gpu

import (
	"context"
	"time"

	"gorgonia.org/cu"
)

// Repeat configures how often work is run for timing.
type Repeat struct {
	Batches int           // timed batches at most, at least 1
	Runs    int           // per batch at most, at least 1
	Time    time.Duration // target for all batches, by the device's clock; slow runs get fewer
}

// benchmark runs work repeatedly on an otherwise idle device, timed by the device's clock.
type benchmark struct {
	unit       *openDevice
	streams    []cu.Stream
	start, end cu.Event
	joints     []cu.Event                         // ends of a batch, on all streams but the first
	queue      func(run int, s []cu.Stream) error // queues one run; called on the work thread
	next       int                                // index of the next run, over all batches
}

// newBenchmark makes the streams and events. The caller must close it. On error all is
// freed.
func newBenchmark(u *openDevice, streams int, queue func(run int, s []cu.Stream) error) (*benchmark, error) {
	t := &benchmark{unit: u, queue: queue}
	if err := u.work.do(func() error { return t.make(streams) }); err != nil {
		t.close()
		return nil, u.failed(err, "make streams and events on %s", u)
	}
	return t, nil
}

func (t *benchmark) make(streams int) (err error) {
	for _, e := range []*cu.Event{&t.start, &t.end} {
		if *e, err = cu.MakeEvent(cu.BlockingSyncEvent); err != nil {
			return err
		}
	}
	for i := range streams {
		s, err := cu.MakeStream(cu.NonBlocking)
		if err != nil {
			return err
		}
		t.streams = append(t.streams, s)
		if i == 0 {
			continue
		}
		e, err := cu.MakeEvent(cu.BlockingSyncEvent)
		if err != nil {
			return err
		}
		t.joints = append(t.joints, e)
	}
	return nil
}

// measure returns the time per run of each batch: at least one batch, at most r.Batches. The
// warm-up (compilation, rising clocks of an idle device) is not included.
func (t *benchmark) measure(ctx context.Context, r Repeat) ([]time.Duration, error) {
	runs, err := t.warm(ctx, r)
	if err != nil {
		return nil, err
	}
	var times []time.Duration
	for spent := time.Duration(0); len(times) == 0 || len(times) < r.Batches && spent < r.Time; {
		d, err := t.batch(ctx, runs)
		if err != nil {
			return nil, err
		}
		spent += d
		times = append(times, d/time.Duration(runs))
	}
	return times, nil
}

// warm warms up the device and returns how many runs a batch should have.
func (t *benchmark) warm(ctx context.Context, r Repeat) (runs int, err error) {
	one, err := t.batch(ctx, 1)
	if err != nil || one > r.Time {
		return 1, err
	}
	fit := func(d time.Duration) int {
		return min(int(r.Time/time.Duration(max(r.Batches, 1))/max(d, 1))+1, max(r.Runs, 1))
	}
	runs = fit(one)
	// The first run is slower than later ones, and an idle device takes a while to speed up.
	for range 2 {
		d, err := t.batch(ctx, runs)
		if err != nil {
			return 0, err
		}
		runs = fit(d / time.Duration(runs))
	}
	return runs, nil
}

// batch times n runs together.
func (t *benchmark) batch(ctx context.Context, n int) (time.Duration, error) {
	first := t.next
	t.next += n
	if err := t.unit.work.do(func() error { return t.queueAll(first, n) }); err != nil {
		return 0, err
	}
	end := t.end
	if _, err := call(ctx, t.unit.waiter, func() (struct{}, error) { return struct{}{}, end.Synchronize() }); err != nil {
		return 0, err
	}
	start := t.start
	return call(ctx, t.unit.work, func() (time.Duration, error) { return elapsed(start, end) })
}

// queueAll queues the runs between the start event, which all streams wait for, and the end event,
// which waits for all streams.
func (t *benchmark) queueAll(first, n int) error {
	s := t.streams
	if err := t.start.Record(s[0]); err != nil {
		return err
	}
	for _, other := range s[1:] {
		if err := other.Wait(t.start, 0); err != nil {
			return err
		}
	}
	for i := first; i < first+n; i++ {
		if err := t.queue(i, s); err != nil {
			return err
		}
	}
	for i, joint := range t.joints {
		if err := joint.Record(s[1+i]); err != nil {
			return err
		}
		if err := s[0].Wait(joint, 0); err != nil {
			return err
		}
	}
	return t.end.Record(s[0])
}

// close waits for running work, whose memory is freed next, and frees the streams and events.
func (t *benchmark) close() {
	streams := t.streams
	_ = t.unit.waiter.do(func() error {
		for _, s := range streams {
			_ = s.Synchronize()
		}
		return nil
	})
	_ = t.unit.work.do(func() error {
		for i := range t.streams {
			_ = t.streams[i].Destroy()
		}
		for _, e := range append(t.joints, t.start, t.end) {
			freeEvent(&e)
		}
		return nil
	})
}
