package live

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"vidfilter/pipeline"
	"vidfilter/samples/scene"
)

// PatternOptions describe the test picture. Zero values are 1280x720, 30 pictures a second and the
// noise of a dark room.
type PatternOptions struct {
	Width, Height int
	FPS           float64
	Noise         float64 // standard deviation in levels of 8 bits; negative without noise
}

func (o PatternOptions) complete() PatternOptions {
	if o.Width == 0 || o.Height == 0 {
		o.Width, o.Height = 1280, 720
	}
	if o.FPS == 0 {
		o.FPS = 30
	}
	if o.Noise == 0 {
		o.Noise = 8
	}
	return o
}

// OpenPattern returns the function that opens the test picture: a landscape that drifts to and fro
// under a swinging bar and a running clock, with new noise in every picture. Width and Height are
// 16 to 8192.
func OpenPattern(o PatternOptions) func(context.Context, *pipeline.Pool, StatusFunc) (Source, error) {
	o = o.complete()
	return func(_ context.Context, pool *pipeline.Pool, _ StatusFunc) (Source, error) { return newPattern(o, pool) }
}

// pattern draws yuv420p, BT.709, limited range.
type pattern struct {
	o     PatternOptions
	pool  *pipeline.Pool
	still *pipeline.Frame // the landscape, wider than the picture
	drift int             // by how much wider
	video *pipeline.Video
	noise []int8
	pace  pace
	n     int64
}

func newPattern(o PatternOptions, pool *pipeline.Pool) (*pattern, error) {
	p := &pattern{o: o, pool: pool, drift: o.Width / 4 &^ 1, video: &pipeline.Video{
		TimeBase: pipeline.Ratio{Num: 1, Den: 1e6}, Rate: pipeline.Ratio{Num: int(math.Round(o.FPS * 1000)), Den: 1000},
	}}
	wide := o.Width&^1 + 2 + p.drift
	cfg := scene.Config{Width: wide, Height: o.Height, Frames: 1, RateNum: 30, RateDen: 1, Bare: true}
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	p.still = pipeline.Blank(cfg.Format())
	cfg.Draw(p.still, 0)
	p.noise = noiseTable(o.Noise)
	return p, nil
}

// noiseTable returns normally distributed noise, for rows to start at any place of it.
func noiseTable(sigma float64) []int8 {
	if sigma < 0 {
		return nil
	}
	r := rand.New(rand.NewPCG(1, 2))
	t := make([]int8, 1<<18)
	for i := range t {
		t[i] = int8(max(-127, min(127, math.Round(r.NormFloat64()*sigma))))
	}
	return t
}

func (p *pattern) FrameRate() float64 { return p.o.FPS }
func (p *pattern) Close()             {}

func (p *pattern) Next(ctx context.Context) (Shot, error) {
	at := time.Duration(float64(p.n) / p.o.FPS * float64(time.Second))
	if err := p.pace.wait(ctx, at); err != nil {
		return Shot{}, err
	}
	taken := time.Now()
	f, err := p.pool.TakeFrame(pipeline.Format{Layout: pipeline.YUV420P, Width: p.o.Width, Height: p.o.Height, Matrix: pipeline.BT709}, nil)
	if err != nil {
		return Shot{}, err
	}
	f.Video, f.PTS = p.video, at.Microseconds()
	p.draw(f, taken)
	p.n++
	return shotAt(f, taken), nil
}

func (p *pattern) draw(f *pipeline.Frame, now time.Time) {
	seconds := float64(p.n) / p.o.FPS
	shift := int((0.5-0.5*math.Cos(seconds/2))*float64(p.drift)) &^ 1
	for i, y := range f.Rows() {
		row := f.Row(i, y)
		copy(row, p.still.Row(i, y)[shift>>min(i, 1):])
		p.grain(row, i > 0)
	}
	p.bar(f, seconds)
	drawClock(f, now)
}

// grain adds noise to a row; chroma gets half of it.
func (p *pattern) grain(row []byte, chroma bool) {
	if p.noise == nil {
		return
	}
	from := rand.IntN(len(p.noise) - len(row))
	noise := p.noise[from:][:len(row)]
	shift := 0
	if chroma {
		shift = 1
	}
	for x, n := range noise {
		v := int(row[x]) + int(n>>shift)
		if uint(v) > 255 {
			v = ^v >> 63 & 255
		}
		row[x] = byte(v)
	}
}

// bar draws a white bar that swings across every two seconds and makes a stalled picture obvious.
func (p *pattern) bar(f *pipeline.Frame, seconds float64) {
	w, rows := f.PlaneSize(0)
	wide := max(2, w/80)
	x := int((0.5 - 0.5*math.Cos(seconds*math.Pi)) * float64(w-wide))
	for y := rows * 7 / 8; y < rows; y++ {
		row := f.Row(0, y)[x:][:wide]
		for i := range row {
			row[i] = 235
		}
	}
}

// drawClock writes the time of day into the upper left corner. Small pictures cut it off.
func drawClock(f *pipeline.Frame, now time.Time) {
	const paper, ink, margin = 40, 220, 2 // levels; dots
	side := max(2, f.Height/180&^1)       // of a dot, even because of chroma
	dots := scene.Dots(now.Format("15:04:05.000"))
	wide, high := (len(dots[0])+2*margin)*side, (len(dots)+2*margin)*side
	left, top := 4*side, 4*side
	for i := range 3 {
		w, rows := f.PlaneSize(i)
		shift := min(i, 1)
		right := min((left+wide)>>shift, w)
		for y := top >> shift; y < min((top+high)>>shift, rows); y++ {
			row := f.Row(i, y)
			for x := left >> shift; x < right; x++ {
				switch u, v := (x-left)/side-margin, (y-top)/side-margin; {
				case i > 0:
					row[x] = 128
				case v >= 0 && v < len(dots) && u >= 0 && u < len(dots[0]) && dots[v][u] == 1:
					row[x] = ink
				default:
					row[x] = paper
				}
			}
		}
	}
}
