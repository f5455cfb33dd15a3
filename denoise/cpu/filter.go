package cpu

// #include "cpu.h"
import "C"

import (
	"errors"
	"fmt"

	"vidfilter/denoise"
	"vidfilter/denoise/motion"
	"vidfilter/denoise/noise"
	"vidfilter/pipeline"
)

// filter writes the frame at index centre of the window, without its noise, to its place in out: a
// frame of the same format or one of more bits. Only the rows of the field are written. The window
// holds frames in order, at the ends of a clip fewer than [denoise.Settings.Window] asks for.
func (e *Engine) filter(out *pipeline.Frame, window []*frame, centre int, m noise.Model, s denoise.Settings, past ...denoise.Past) error {
	m = m.Scale(s.Strength)
	f := &filter{Settings: s, Engine: e, window: window, centre: centre, past: past, frame: window[centre], depth: out.Layout.Info().Depth}
	if err := f.check(out); err != nil {
		return err
	}
	if f.take(m); !f.filtered.Any() {
		return f.frame.save(out, f.frame.planes)
	}
	defer f.release()
	if err := f.run(); err != nil {
		return err
	}
	return f.frame.save(out, f.result)
}

// filter is the work on one frame.
type filter struct {
	denoise.Settings
	*Engine
	noise    noise.Model // of the planes
	sigma    float64     // of luma, for the search
	faint    bool        // only the picture of half the size is filtered
	window   []*frame
	centre   int
	past     []denoise.Past
	frame    *frame
	filtered denoise.Planes
	pilots   denoise.Planes // that the first pass filters
	depth    int            // of the result
	search   *motion.Search

	planes  *searchPlanes // of the frame
	result  [3]C.vd_plane
	pilot   [3]*C.uint16_t // the first pass's result, in the pitch of the frame's planes
	rounded C.vd_plane     // its luma, as the search reads it
	blocks  []*block
	seams   [3]*block // of the passes over each plane
	passing *block    // planes of far frames, a few at a time
	half    *filter   // of the picture of half the size, done; nil without
}

// neighbour is another frame, and the way to it.
type neighbour struct {
	*frame
	distance int // in frames, negative for earlier ones
	planes   *searchPlanes
	between  [3]across
	job      *C.vd_search
	along    *neighbour // of a far frame: the near one on the way, else nil
}

func (f *filter) check(out *pipeline.Frame) error {
	if out.Layout.Arrangement() != f.frame.format.Layout.Arrangement() || f.depth < f.frame.depth() || out.Width != f.frame.format.Width || out.Height != f.frame.format.Height {
		return fmt.Errorf("denoise: %v into %v", f.frame.format, out.Format)
	}
	for _, w := range f.window {
		if w.planes[0].width != f.frame.planes[0].width || w.planes[0].height != f.frame.planes[0].height || w.format.Layout != f.frame.format.Layout {
			return errors.New("denoise: the frames of the window differ in size")
		}
	}
	if 2*f.Far > C.VD_NEIGHBOURS || 2*f.Near > C.VD_NEIGHBOURS {
		return fmt.Errorf("denoise: %d and %d frames each way", f.Near, f.Far)
	}
	if len(f.past) > C.VD_PAST {
		return fmt.Errorf("denoise: %d sums of frames before", len(f.past))
	}
	return nil
}

func (f *filter) alloc(size int) (*block, error) {
	b := f.heap.alloc(size)
	if b == nil {
		return nil, errMemory
	}
	f.blocks = append(f.blocks, b)
	return b, nil
}

func (f *filter) release() {
	for _, b := range f.blocks {
		b.release()
	}
	if f.half != nil {
		f.half.release()
	}
}

// take sets the noise, scaled by the strength, and the components to filter.
func (f *filter) take(m noise.Model) {
	count := 0
	for _, p := range f.frame.planes {
		if p.at != nil {
			count++
		}
	}
	f.filtered = f.Filtered(&m, count)
	f.pilots, f.noise, f.sigma, f.faint = f.Pilots(f.filtered), f.OfPlanes(m), m.Sigma[0], m.Faint()
}

func (f *filter) run() (err error) {
	if err := f.runHalf(); err != nil {
		return err
	}
	if f.result, err = f.newPlanes(f.filtered); err != nil {
		return err
	}
	if f.faint {
		f.leave()
	} else if err := f.denoise(); err != nil {
		return err
	}
	return f.replace()
}

// denoise sets the result by the passes over the frame.
func (f *filter) denoise() error {
	f.search = motion.NewSearch(f.Motion, f.sigma)
	if f.Far > f.Near { // memory is short, and only neighbours are moved
		f.frame.forgetRights()
	}
	near, err := f.near()
	if err != nil {
		return err
	}
	if !f.TwoPasses {
		return f.first(near)
	}
	if err := f.preparePilot(); err != nil {
		return err
	}
	if err := f.first(near); err != nil {
		return err
	}
	all, err := f.refined(near)
	if err != nil {
		return err
	}
	if err := f.second(all); err != nil {
		return err
	}
	if f.Far > f.Near { // the next frame has these far behind
		for _, w := range f.window[:max(f.centre-f.Near+1, 0)] {
			w.forget()
		}
	}
	return nil
}

// newPlanes returns planes for the result in place of some components, and the frame's planes in
// place of the others.
func (f *filter) newPlanes(some denoise.Planes) (planes [3]C.vd_plane, err error) {
	planes = f.frame.planes
	for c := range some.Each() {
		s := shapeOf(planes[c])
		s.depth = f.depth
		b, err := f.alloc(s.size())
		if err != nil {
			return planes, err
		}
		planes[c] = b.plane(s)
	}
	return planes, nil
}

// at returns the frame at a distance, or nil if the window ends before it.
func (f *filter) at(distance int) *neighbour {
	i := f.centre + distance
	if i < 0 || i >= len(f.window) || distance > f.Ahead {
		return nil
	}
	return &neighbour{frame: f.window[i], distance: distance}
}

// neighbour returns the frame at a distance with its planes, or nil.
func (f *filter) neighbour(distance int) (n *neighbour, err error) {
	if n = f.at(distance); n == nil {
		return nil, nil
	}
	if n.planes, err = n.forSearch(f.search.Coarse); err != nil {
		return nil, err
	}
	if n.between, err = n.forPasses(f.pilots); err != nil {
		return nil, err
	}
	return n, f.newSearch(n)
}

// near returns the neighbours that are searched, from the earliest to the latest.
func (f *filter) near() (all []*neighbour, err error) {
	if f.planes, err = f.frame.forSearch(f.search.Coarse); err != nil {
		return nil, err
	}
	for d := -f.Near; d <= f.Near; d++ {
		if d == 0 {
			continue
		}
		n, err := f.neighbour(d)
		if err != nil {
			return nil, err
		}
		if n != nil {
			all = append(all, n)
		}
	}
	f.find(all)
	if f.FrameGate {
		all = f.fitting(all)
	}
	return all, nil
}
