package noise

import (
	"math"

	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// Reading is the measurement of a picture with the two before it, beside other work.
type Reading struct {
	frame  *Frame
	ready  chan struct{} // the frame is
	middle *middle       // the frame as such, nil after a cut; in a copy the frame before
	paired chan struct{} // the frame has been compared with the one before
	pair   *Pair
	triple *Triple // of three different frames of a scene, else nil
	small  coarsePairs
	done   chan struct{} // the triple is there

	thumb level // of luma, for [Lights]
}

// Read begins to measure a picture. Before is the reading of the picture before it, which is read
// once; nil for the first. Neither picture may change until Wait has returned.
func Read(before *Reading, pic plane.Views) *Reading {
	r := &Reading{ready: make(chan struct{}), paired: make(chan struct{}), done: make(chan struct{})}
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
		r.thumb = f.thumb()
		pair, s, m := newPair(last, f)
		var first *middle
		if before != nil {
			<-before.paired
			first, before.middle = before.middle, nil
		}
		r.pair, r.middle = pair, m
		if again := m != nil && pair.copied(); again {
			r.middle = first.again()
			first = nil
		}
		close(r.paired)
		if pair.coarse() {
			r.small = newCoarsePairs(last, f)
		}
		if m != nil && first != nil {
			r.triple = first.compare(s)
		}
	}()
	return r
}

// Wait returns when the picture has been measured.
func (r *Reading) Wait() { <-r.done }

const (
	// Before is how many frames before its own a model depends on.
	Before = history + settled

	// history is how many frames before its own are measured for a frame: few hold few blocks that
	// show the noise of film.
	history = 24

	// paired is how many of them are compared in pairs, which have more information each.
	paired = 3

	// settled is how many frames before its own in its scene have their estimates averaged with a
	// frame's, since motion changes the estimate. Those from the beginning of the scene are less
	// sure.
	settled = 24
)

// Meter measures frames that come one after another. The model of a frame depends only on its
// window, so a meter that starts later finds the same.
type Meter struct {
	after int

	last     *Reading
	first    int                  // the number of the first frame that is kept
	readings []*Reading           // of the frames from first on
	coded    []pipeline.Quantiser // likewise

	next      int        // the number of the first frame without an estimate
	estimates []estimate // of the frames before it
}

// estimate is the noise as the frames about one show it.
type estimate struct {
	Model
	known int // frames of its scene that it depends on, history at the most
}

// NewMeter returns a meter whose models come from [Before] frames before their own and from after
// frames after it: 3 for a file, 0 for a live picture.
func NewMeter(after int) *Meter { return &Meter{after: after} }

// Put adds the next frame. Its picture must not change until the next call.
func (m *Meter) Put(pic plane.Views, q pipeline.Quantiser) {
	m.last = Read(m.last, pic)
	m.Add(m.last, q)
}

// Add adds the next frame by its reading, for which it waits.
func (m *Meter) Add(r *Reading, q pipeline.Quantiser) {
	r.Wait()
	m.readings = append(m.readings, r)
	m.coded = append(m.coded, q)
	if old := len(m.readings) - 2 - paired - m.after; old >= 0 {
		m.readings[old].small = coarsePairs{} // no model depends on them any more
	}
	m.estimate(m.first + len(m.readings) - m.after)
	for len(m.readings) > history+m.after+1 {
		m.readings, m.coded = m.readings[1:], m.coded[1:]
		m.first++
	}
}

// estimate adds estimates of the frames before frame end.
func (m *Meter) estimate(end int) {
	for ; m.next < end; m.next++ {
		at := m.next - m.first
		known := 1 // the frame
		if last := len(m.estimates) - 1; last >= 0 && !m.readings[at].pair.cut {
			known = min(m.estimates[last].known+1, history)
		} else {
			m.estimates = nil // of another scene
		}
		m.estimates = append(m.estimates, estimate{m.about(at), known})
		if len(m.estimates) > settled+1 {
			m.estimates = m.estimates[1:]
		}
	}
}

// Model returns the model of frame n, counted from the first that was put. Call it when the frames
// after it that belong to its window have been put, or when there are no more, and before any more.
func (m *Meter) Model(n int) Model {
	m.estimate(n + 1)
	return average(m.estimates)
}

// average returns the average of estimates that follow each other.
func average(list []estimate) (m Model) {
	var sum float64
	halves := make([]*Half, len(list))
	weights := make([]float64, len(list))
	for i, e := range list {
		weights[i] = math.Pow(float64(e.known)/history, 6)
		sum += weights[i]
		m.mix(&e.Model, weights[i]/sum)
		halves[i] = e.Half
	}
	m.Half = meanHalf(halves, weights)
	return m
}

// about returns the noise that the frames about one show, of the frames that are kept.
func (m *Meter) about(at int) Model {
	end := min(at+m.after+1, len(m.readings))
	// The first frame of the window has its pair before the window.
	from := max(min(at-paired+1, at), 0)
	var pairs []*Pair
	var small []coarsePairs
	for _, r := range m.readings[from:end] {
		pairs, small = append(pairs, r.pair), append(small, r.small)
	}
	sum := sumOf(pairs, at-from)
	for i := max(at-history, 0); i < end; i++ {
		if r := m.readings[i]; r.triple != nil && i-r.triple.span >= at-history && m.oneScene(i, at) {
			sum.addTriple(r.triple)
		}
	}
	return sum.withHalf(sumOfCoarse(small, at-from), rms(m.coded[max(at-paired, 0):end]))
}

// oneScene reports whether there is no cut between two kept frames.
func (m *Meter) oneScene(a, b int) bool {
	for _, r := range m.readings[min(a, b)+1 : max(a, b)+1] {
		if r.pair.cut {
			return false
		}
	}
	return true
}

// rms returns the root of the mean square of the known steps, and the properties of any of them.
func rms(list []pipeline.Quantiser) (mean pipeline.Quantiser) {
	sum, n := 0.0, 0
	for _, q := range list {
		if q.Step > 0 {
			sum += float64(q.Step) * float64(q.Step)
			n++
		}
		mean.Smoothed = mean.Smoothed || q.Smoothed
		mean.Faithful = mean.Faithful || q.Faithful
	}
	mean.Step = float32(math.Sqrt(sum / float64(max(n, 1))))
	return mean
}
