package noise

import (
	"math"

	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// Reading is the measurement of a picture and the one before it, beside other work.
type Reading struct {
	frame *Frame
	ready chan struct{} // the frame is
	pair  *Pair
	done  chan struct{} // the pair is
}

// Read begins to measure a picture. Before is the reading of the picture before it, which is read
// once; nil for the first. Neither picture may change until Wait has returned.
func Read(before *Reading, pic plane.Views) *Reading {
	r := &Reading{ready: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(r.done)
		f := NewFrame(pic)
		r.frame = f
		close(r.ready)
		var last *Frame
		if before != nil {
			<-before.ready
			last, before.frame = before.frame, nil
		}
		r.pair = NewPair(last, f)
	}()
	return r
}

// Wait returns when the picture has been measured.
func (r *Reading) Wait() { <-r.done }

// Meter measures frames that come one after another. The model of a frame depends on those of its
// window and on nothing else, so a meter that starts later finds the same.
type Meter struct {
	before, after int

	last  *Reading
	first int                  // the number of the first frame that is kept
	pairs []*Pair              // of the frames from first on
	coded []pipeline.Quantiser // likewise
}

// NewMeter returns a meter whose models come from so many frames before and after their own: 3 and
// 3 for a file, 3 or more and 0 for a live picture.
func NewMeter(before, after int) *Meter { return &Meter{before: before, after: after} }

// Put adds the next frame. Its picture must not change until the next call.
func (m *Meter) Put(pic plane.Views, q pipeline.Quantiser) {
	m.last = Read(m.last, pic)
	m.Add(m.last, q)
}

// Add adds the next frame by its reading, for which it waits.
func (m *Meter) Add(r *Reading, q pipeline.Quantiser) {
	r.Wait()
	m.pairs = append(m.pairs, r.pair)
	m.coded = append(m.coded, q)
	for len(m.pairs) > m.before+m.after+1 {
		m.pairs, m.coded = m.pairs[1:], m.coded[1:]
		m.first++
	}
}

// Model returns the model of frame n, counted from the first that was put. Call it when the frames
// after it that belong to its window have been put, or when there are no more, and before any more.
func (m *Meter) Model(n int) Model {
	end := min(n+m.after+1, m.first+len(m.pairs)) - m.first
	// The first frame of the window has its pair before the window.
	from := max(min(n-m.before+1, n), m.first) - m.first
	coded := m.coded[max(n-m.before, m.first)-m.first : end]
	return Estimate(m.pairs[from:end], n-m.first-from, rms(coded))
}

// rms returns the root of the mean square of the steps that are known.
func rms(list []pipeline.Quantiser) (mean pipeline.Quantiser) {
	sum, n := 0.0, 0
	for _, q := range list {
		if q.Step > 0 {
			sum += float64(q.Step) * float64(q.Step)
			n++
			mean.Smoothed = mean.Smoothed || q.Smoothed
		}
	}
	mean.Step = float32(math.Sqrt(sum / float64(max(n, 1))))
	return mean
}
