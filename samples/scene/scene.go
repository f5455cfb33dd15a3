// Package scene draws the picture of the sample clips: a landscape at dusk with gradients, hard
// edges, saturated colours, fine and moving texture, and text. Frame n of a given size is the same
// on every machine and for any number of threads, since all arithmetic is in integers.
package scene

import (
	"bufio"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
)

// Config describes a clip. Width and Height are in pixels, 16 to 16384.
type Config struct {
	Width, Height    int
	Frames           int
	RateNum, RateDen int    // frames per second as a fraction
	Noise            int    // deviation of mid-tone grain, in 1/256 code value; 0 to 64*256
	Seed             uint64 // of the grain; the scene does not depend on it
	Threads          int    // 0: one per processor
	Bare             bool   // without the caption of frame number and time
}

func (c Config) check() error {
	switch {
	case c.Width < 16 || c.Height < 16 || c.Width > 16384 || c.Height > 16384:
		return fmt.Errorf("scene: size %dx%d: want 16 to 16384 each way", c.Width, c.Height)
	case c.Frames < 1:
		return fmt.Errorf("scene: %d frames: want at least one", c.Frames)
	case c.RateNum < 1 || c.RateDen < 1 || c.RateNum > 1<<20 || c.RateDen > 1<<20:
		return fmt.Errorf("scene: rate %d/%d: want both parts in 1 to %d", c.RateNum, c.RateDen, 1<<20)
	case c.Noise < 0 || c.Noise > 64*256:
		return fmt.Errorf("scene: noise %d/256: want 0 to 64", c.Noise)
	}
	return nil
}

// Renderer draws frames of one configuration. Frame may be called from several goroutines.
type Renderer struct {
	cfg                  Config
	lumaGain, chromaGain *[256]int
}

// New checks the configuration.
func New(cfg Config) (*Renderer, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.Threads < 1 {
		cfg.Threads = runtime.GOMAXPROCS(0)
	}
	return &Renderer{cfg, grainGain(cfg.Noise, 100), grainGain(cfg.Noise, grainColor)}, nil
}

// FrameSize returns the bytes of a frame: yuv420p planes without padding, odd sizes round chroma
// up.
func (r *Renderer) FrameSize() int {
	return r.cfg.Width*r.cfg.Height + 2*((r.cfg.Width+1)/2)*((r.cfg.Height+1)/2)
}

func (r *Renderer) planes(dst []byte) (y, u, v []byte) {
	n := r.cfg.Width * r.cfg.Height
	c := (r.FrameSize() - n) / 2
	return dst[:n], dst[n : n+c], dst[n+c : n+2*c]
}

// bandRows is how many rows a thread draws at a time: even, because of chroma, and large enough
// that the two rows of noise above a band cost little.
const bandRows = 16

// Frame draws frame n, counted from 0, into dst, which has FrameSize bytes: BT.709, limited range,
// chroma sited on the left.
func (r *Renderer) Frame(dst []byte, n int) {
	s := newStage(r.cfg, n)
	var next atomic.Int64
	var workers sync.WaitGroup
	for range r.cfg.Threads {
		workers.Go(func() {
			rows := [2][]rgb{make([]rgb, r.cfg.Width), make([]rgb, r.cfg.Width)}
			for {
				y0 := int(next.Add(bandRows)) - bandRows
				if y0 >= r.cfg.Height {
					return
				}
				r.band(s, dst, rows, n, y0, min(y0+bandRows, r.cfg.Height))
			}
		})
	}
	workers.Wait()
}

func (r *Renderer) band(s *stage, dst []byte, rows [2][]rgb, n, y0, y1 int) {
	w, cw := r.cfg.Width, (r.cfg.Width+1)/2
	luma, u, v := r.planes(dst)
	for y := y0; y < y1; y += 2 {
		top, bottom := rows[0], rows[0]
		s.row(top, y)
		lumaRow(luma[y*w:][:w], top)
		if y+1 < y1 {
			bottom = rows[1]
			s.row(bottom, y+1)
			lumaRow(luma[(y+1)*w:][:w], bottom)
		}
		chromaRow(u[y/2*cw:][:cw], v[y/2*cw:][:cw], top, bottom)
	}
	if r.cfg.Noise > 0 {
		r.grain(dst, n, y0, y1)
	}
}

// lumaRow converts with Y = 16 + 219/255 (0.2126 R + 0.7152 G + 0.0722 B), coefficients times
// 1<<16.
func lumaRow(dst []byte, row []rgb) {
	for x, c := range row {
		dst[x] = byte((11966*int(c.r) + 40254*int(c.g) + 4064*int(c.b) + 33<<23) >> 24)
	}
}

// chromaRow averages two rows, and 1-2-1 across, since chroma is sited on the left column. The
// coefficients are those of BT.709 times 1<<16 and 224/255.
func chromaRow(u, v []byte, top, bottom []rgb) {
	at := func(x int) (r, g, b int) {
		p, q := top[x], bottom[x]
		return int(p.r + q.r), int(p.g + q.g), int(p.b + q.b)
	}
	last := len(top) - 1
	lr, lg, lb := at(0)
	for x := range u {
		mr, mg, mb := at(2 * x)
		rr, rg, rb := at(min(2*x+1, last))
		r, g, b := lr+2*mr+rr, lg+2*mg+rg, lb+2*mb+rb
		u[x] = byte((-6596*r - 22189*g + 28785*b + 257<<26) >> 27)
		v[x] = byte((28785*r - 26145*g - 2640*b + 257<<26) >> 27)
		lr, lg, lb = rr, rg, rb
	}
}

// WriteY4M renders all frames to w as YUV4MPEG2. A frame is written while the next one is drawn.
func WriteY4M(w io.Writer, cfg Config) error {
	r, err := New(cfg)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 1<<20)
	fmt.Fprintf(out, "YUV4MPEG2 W%d H%d F%d:%d Ip A1:1 C420mpeg2 XCOLORRANGE=LIMITED\n",
		cfg.Width, cfg.Height, cfg.RateNum, cfg.RateDen)
	drawn, idle := make(chan []byte), make(chan []byte, 2)
	stop := make(chan struct{})
	defer close(stop)
	idle <- make([]byte, r.FrameSize())
	idle <- make([]byte, r.FrameSize())
	go func() {
		defer close(drawn)
		for n := range cfg.Frames {
			select {
			case frame := <-idle:
				r.Frame(frame, n)
				select {
				case drawn <- frame:
				case <-stop:
					return
				}
			case <-stop:
				return
			}
		}
	}()
	for frame := range drawn {
		out.WriteString("FRAME\n") // errors stick to out, and Write below returns them
		if _, err := out.Write(frame); err != nil {
			return fmt.Errorf("scene: write frame: %w", err)
		}
		idle <- frame
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("scene: write frame: %w", err)
	}
	return nil
}
