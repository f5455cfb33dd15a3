package bench

import (
	"context"
	"slices"
	"time"

	"vidfilter/kernels"
	"vidfilter/lab/measure"
	"vidfilter/live"
	"vidfilter/live/preview"
)

// LiveSection measures the delay of live: from a picture's arrival to its packet for one viewer.
// The source is the test picture at 30 a second, so that the machine idles in between as with a
// camera.
type LiveSection struct {
	Rows []LiveRow `json:"rows"`
}

// LiveRow is one session. Times are for one picture.
type LiveRow struct {
	Size    Size    `json:"size"`
	Radius  int     `json:"radius"`
	Device  string  `json:"device"` // gpu or cpu
	FPS     float64 `json:"fps"`    // of the output
	Server  Stat    `json:"server"` // from capture to encoded packet
	Late    float64 `json:"late"`   // the 95th percentile in milliseconds
	Filter  Stat    `json:"filter"`
	Encode  Stat    `json:"encode"`
	Dropped int64   `json:"dropped"` // pictures dropped as too late, at any stage
}

const (
	liveFPS     = 30
	liveBitRate = 20e6
)

func (r *run) live(ctx context.Context) (*LiveSection, error) {
	s := &LiveSection{}
	for _, size := range r.sizes([]Size{{Width: 1280, Height: 720}, size1080}, []Size{{Width: 1280, Height: 720}}) {
		for _, radius := range r.radii([]int{1, 3, 5}, []int{3}) {
			for _, device := range []string{"gpu", "cpu"} {
				if device == "gpu" && r.GPU == nil {
					continue
				}
				r.say("live: %s, r=%d, %s", size, radius, device)
				row, err := r.liveRow(ctx, size, radius, device)
				if err != nil {
					return s, err
				}
				s.Rows = append(s.Rows, row)
			}
		}
	}
	return s, nil
}

func (r *run) liveSeconds() time.Duration {
	switch {
	case r.o.Quick && r.smallest():
		return time.Second / 2
	case r.o.Quick:
		return 2 * time.Second
	}
	return 5 * time.Second
}

func (r *run) liveRow(ctx context.Context, size Size, radius int, device string) (LiveRow, error) {
	row := LiveRow{Size: size, Radius: radius, Device: device}
	var backend kernels.Backend = r.CPU
	if device == "gpu" {
		b, err := measure.OpenGPU(r.o.Indexes, 1)
		if err != nil {
			return row, err
		}
		defer b.Close()
		backend = b
	}
	in := live.Input{Name: "test", Kind: live.Test, Open: live.OpenPattern(live.PatternOptions{Width: size.Width, Height: size.Height, FPS: liveFPS})}
	session, err := live.New(live.Options{Input: in, Backend: backend, Filter: live.FilterOf(kernels.Select(kernels.DefaultBilateral(radius)), "auto")})
	if err != nil {
		return row, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- session.Run(ctx) }()
	err = r.view(ctx, session, &row)
	cancel()
	if e := <-ended; err != nil && e != nil {
		return row, e // the reason that the viewer received no more pictures
	}
	return row, err
}

// view is a viewer that takes each picture immediately.
func (r *run) view(ctx context.Context, session *live.Session, row *LiveRow) error {
	p, err := preview.New(preview.Options{Kind: preview.AVC, View: preview.ViewStack, BitRate: liveBitRate, FrameRate: liveFPS})
	if err != nil {
		return err
	}
	defer p.Close()
	w := session.Watch(1)
	defer w.Close()
	var server, filter, coding []time.Duration
	var end time.Time
	for warm := 15; end.IsZero() || time.Now().Before(end); warm-- {
		pair, err := w.Next(ctx)
		if err != nil {
			return err
		}
		begin := time.Now()
		_, err = p.Encode(pair.Original, pair.Filtered, preview.Stamp{Time: pair.Stamp, Seq: uint16(pair.ID)}, false)
		took, age := time.Since(begin), time.Since(pair.Taken)
		pair.Release()
		if err != nil {
			return err
		}
		if warm > 0 {
			continue // the first is a key frame, and the encoder's rate control may still settle
		}
		if end.IsZero() {
			end = time.Now().Add(r.liveSeconds())
		}
		server, coding = append(server, age), append(coding, took)
		filter = append(filter, session.Figures().Filter)
	}
	f := session.Figures()
	row.Server, row.Encode, row.Filter = measure.StatOf(server), measure.StatOf(coding), measure.StatOf(filter)
	slices.Sort(server)
	row.Late = measure.Milliseconds(server[len(server)*95/100])
	row.FPS, row.Dropped = float64(len(server))/r.liveSeconds().Seconds(), f.DroppedSource+f.DroppedFilter+w.Dropped()
	return nil
}
