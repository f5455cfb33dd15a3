package gpu

import (
	"context"
	"time"

	"gorgonia.org/cu"
)

// Repeat says how often work is run to be timed.
type Repeat struct {
	Batches int           // to be timed, at least 1
	Runs    int           // in a batch at most, at least 1
	Time    time.Duration // that all batches should take together, by the device's clock; a slow run gets fewer of them
}

// trial is work that is run over and over on a device with nothing else, and timed by the device's own clock.
type trial struct {
	unit       *unit
	streams    []cu.Stream
	start, end cu.Event
	joints     []cu.Event                         // the end of a batch on each stream but the first
	queue      func(run int, s []cu.Stream) error // queues one run on the streams; called on the work thread
	next       int                                // the run that comes next, counted from 0 over all batches
}

// newTrial makes the streams and events. The caller closes the trial; after an error nothing is left.
func newTrial(u *unit, streams int, queue func(run int, s []cu.Stream) error) (*trial, error) {
	t := &trial{unit: u, queue: queue}
	if err := u.work.do(func() error { return t.make(streams) }); err != nil {
		t.close()
		return nil, u.failed(err, "make streams and events on %s", u)
	}
	return t, nil
}

func (t *trial) make(streams int) (err error) {
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

// measure returns the times of a run, one for each batch: at least one batch, at most r.Batches. What comes first (the
// compiler, the clocks of a device that has slept) is not in them.
func (t *trial) measure(ctx context.Context, r Repeat) ([]time.Duration, error) {
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

// warm finds out how many runs a batch should have.
func (t *trial) warm(ctx context.Context, r Repeat) (runs int, err error) {
	one, err := t.batch(ctx, 1)
	if err != nil || one > r.Time {
		return 1, err
	}
	fit := func(d time.Duration) int {
		return min(int(r.Time/time.Duration(max(r.Batches, 1))/max(d, 1))+1, max(r.Runs, 1))
	}
	runs = fit(one)
	for range 2 { // the first run is slower than those that follow, and a device that has slept needs a while
		d, err := t.batch(ctx, runs)
		if err != nil {
			return 0, err
		}
		runs = fit(d / time.Duration(runs))
	}
	return runs, nil
}

// batch times n runs together.
func (t *trial) batch(ctx context.Context, n int) (time.Duration, error) {
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

// queueAll puts the runs between the start, for which all streams wait, and the end, which waits for all streams.
func (t *trial) queueAll(first, n int) error {
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

// close waits for what still runs, since the memory that it uses goes next, and frees streams and events.
func (t *trial) close() {
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
			if e != (cu.Event{}) {
				_ = cu.DestroyEvent(&e)
			}
		}
		return nil
	})
}
