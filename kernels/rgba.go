package kernels

import (
	"context"
	"runtime"
	"sync"

	"vidfilter/pipeline"
)

// InRGBA returns a filter that lets inner, which filters RGBA by p, filter frames of any format: they are converted to RGBA before and back
// afterwards, on all cores, by the arithmetic of Reference; so the result is what Reference says of the planes. Frames of RGBA are
// only copied. Interlaced frames keep their fields apart.
//
// words is where the frames for inner come from, which draws its results from a pool of its own; results is where those of this filter come
// from. tell, if not nil, is called before frames of another format than the last are converted. Frames come back as inner gives them, one for each.
func InRGBA(inner pipeline.Filter, p Params, words, results *pipeline.Pool, tell func(from pipeline.Format)) pipeline.Filter {
	return &inRGBA{inner: inner, params: p, words: words, results: results, tell: tell}
}

type inRGBA struct {
	inner          pipeline.Filter
	params         Params
	words, results *pipeline.Pool
	tell           func(from pipeline.Format)
	convert        *converter
	waiting        []*pipeline.Frame // owned: the originals of what inner holds, the oldest first
}

func (f *inRGBA) Held() int { return f.inner.Held() }

// Process takes in. What it emits are frames of results.
func (f *inRGBA) Process(ctx context.Context, in *pipeline.Frame, emit pipeline.Emit) error {
	words, err := f.toWords(in)
	if err != nil {
		in.Release()
		return err
	}
	f.waiting = append(f.waiting, in)
	return f.inner.Process(ctx, words, f.back(ctx, emit))
}

// Flush emits what inner holds.
func (f *inRGBA) Flush(ctx context.Context, emit pipeline.Emit) error {
	return f.inner.Flush(ctx, f.back(ctx, emit))
}

// Discard gives up the frames held.
func (f *inRGBA) Discard() {
	if d, ok := f.inner.(pipeline.Discarder); ok {
		d.Discard()
	}
	for _, w := range f.waiting {
		w.Release()
	}
	f.waiting = nil
}

// toWords borrows in and returns an owned frame of RGBA with the same picture.
func (f *inRGBA) toWords(in *pipeline.Frame) (*pipeline.Frame, error) {
	if err := checkFrame(in); err != nil {
		return nil, err
	}
	if in.Layout == pipeline.RGBA {
		return in.Retain(), nil
	}
	c, err := f.converterOf(in.Format)
	if err != nil {
		return nil, err
	}
	format := in.Format
	format.Layout = pipeline.RGBA
	words, err := f.words.TakeFrame(format, nil)
	if err != nil {
		return nil, err
	}
	words.CopyTiming(in)
	from, n := fieldsOf(in, in.Interlaced)
	to, _ := fieldsOf(words, in.Interlaced)
	for i := range n {
		c.toWords(to[i], from[i])
	}
	return words, nil
}

func (f *inRGBA) converterOf(format pipeline.Format) (*converter, error) {
	if f.convert == nil || f.convert.format != format {
		t, err := newTransform(format)
		if err != nil {
			return nil, err
		}
		f.convert = newConverter(format, t)
		if f.tell != nil {
			f.tell(format)
		}
	}
	return f.convert, nil
}

// back emits for each result of inner a frame of the original's format.
func (f *inRGBA) back(ctx context.Context, emit pipeline.Emit) pipeline.Emit {
	return func(words *pipeline.Frame) error {
		original := f.waiting[0]
		f.waiting = f.waiting[1:]
		defer original.Release()
		defer words.Release()
		out, err := f.results.NewFrame(ctx, original.Format)
		if err != nil {
			return err
		}
		out.CopyTiming(words)
		if err := f.fromWords(out, words, original); err != nil {
			out.Release()
			return err
		}
		return emit(out)
	}
}

// fromWords converts a result. Where the border skip leaves samples as they are, they are the original's.
func (f *inRGBA) fromWords(out, words, original *pipeline.Frame) error {
	if out.Layout == pipeline.RGBA {
		out.CopySamples(words)
		return nil
	}
	c, err := f.converterOf(out.Format) // another, where the format has changed meanwhile
	if err != nil {
		return err
	}
	from, n := fieldsOf(words, original.Interlaced)
	to, _ := fieldsOf(out, original.Interlaced)
	kept, _ := fieldsOf(original, original.Interlaced)
	for i := range n {
		c.fromWords(to[i], from[i])
		if f.params.Border == Skip {
			keepSamples(to[i], kept[i], f.params.Radius)
		}
	}
	return nil
}

// converter has the transform of a format in tables, by samples and by colours, since both sides are bytes. Sums of their entries are
// transform's, with what makes ties round up in one of them.
type converter struct {
	format     pipeline.Format
	luma       [256]float64       // what Y adds to red, green and blue
	rv, gv     [256]float64       // what V adds to red and green
	gu, bu     [256]float64       // and U to green and blue
	plane      [3][3][256]float64 // of Y, U, V: what red, green and blue add
	subX, subY int
}

// toLevel is what nearest adds before it drops what is behind the point.
const toLevel = 0.5 + 1e-9

func newConverter(f pipeline.Format, t transform) *converter {
	c := &converter{format: f}
	c.subX, c.subY = f.ChromaShift()
	r0, g0, b0 := t.rgb(0, 128, 128)
	y0, u0, v0 := t.yuv(0, 0, 0)
	for i := range 256 {
		x := float64(i)
		c.luma[i] = t.yGain*x + r0 + toLevel // grey, so r0, g0 and b0 are the same
		_, gu, bu := t.rgb(0, x, 128)
		rv, gv, _ := t.rgb(0, 128, x)
		c.gu[i], c.bu[i], c.rv[i], c.gv[i] = gu-g0, bu-b0, rv-r0, gv-g0
		for k := range 3 {
			var rgb [3]float64
			rgb[k] = x
			y, u, v := t.yuv(rgb[0], rgb[1], rgb[2])
			c.plane[0][k][i], c.plane[1][k][i], c.plane[2][k][i] = y-y0, u-u0, v-v0
		}
		c.plane[0][0][i] += y0
		c.plane[1][0][i] += u0
		c.plane[2][0][i] += v0
	}
	return c
}

// whole drops what is behind the point and keeps to 8 bits.
func whole(x float64) uint8 { return uint8(min(max(x, 0), 255)) }

// toWords makes a field of words, opaque, of one of planes.
func (c *converter) toWords(to, from field) {
	eachRow(to.height, func(y int) {
		row := to.planes[0].Data[y*to.planes[0].Pitch:][:4*to.width]
		luma := from.planes[0].Data[y*from.planes[0].Pitch:][:to.width]
		for x, l := range luma {
			u, v := from.chroma(x, y)
			e := c.luma[l]
			w := row[4*x:][:4]
			w[0], w[1], w[2], w[3] = whole(e+c.rv[v]), whole(e+c.gu[u]+c.gv[v]), whole(e+c.bu[u]), 255
		}
	})
}

// fromWords makes a field of planes of one of words.
func (c *converter) fromWords(to, from field) {
	eachRow(to.height, func(y int) {
		row := from.planes[0].Data[y*from.planes[0].Pitch:][:4*from.width]
		luma := to.planes[0].Data[y*to.planes[0].Pitch:][:to.width]
		for x := range luma {
			luma[x] = whole(c.sum(0, row[4*x:]) + toLevel)
		}
	})
	eachRow(to.chromaWrite, func(cy int) {
		for cx := range (to.width + 1<<c.subX - 1) >> c.subX {
			u, v := c.meanChroma(from, cx, cy)
			to.setChroma(cx, cy, whole(u+toLevel), whole(v+toLevel))
		}
	})
}

// sum is a plane's sample of a word, not rounded.
func (c *converter) sum(plane int, word []byte) float64 {
	p := &c.plane[plane]
	return p[0][word[0]] + p[1][word[1]] + p[2][word[2]]
}

// meanChroma is meanChroma of planes.go by the tables.
func (c *converter) meanChroma(from field, cx, cy int) (u, v float64) {
	n := 0.0
	for y := cy << c.subY; y < min((cy+1)<<c.subY, from.height); y++ {
		row := from.planes[0].Data[y*from.planes[0].Pitch:]
		for x := cx << c.subX; x < min((cx+1)<<c.subX, from.width); x++ {
			word := row[4*x:]
			u, v, n = u+c.sum(1, word), v+c.sum(2, word), n+1
		}
	}
	return u / n, v / n
}

// eachRow calls do for the rows 0 to n-1, on all cores.
func eachRow(n int, do func(row int)) {
	threads := min(runtime.GOMAXPROCS(0), n)
	var wg sync.WaitGroup
	for i := range threads {
		wg.Go(func() {
			for row := i * n / threads; row < (i+1)*n/threads; row++ {
				do(row)
			}
		})
	}
	wg.Wait()
}
