package pipeline

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
)

// CompareMode is how original and filtered picture share a frame.
type CompareMode uint8

const (
	// CompareSide puts the original to the left of the filtered picture, each in full. If chroma
	// is subsampled across, a half of odd width repeats its last luma column, so that the other
	// half starts on a chroma sample and the sum is even.
	CompareSide CompareMode = iota + 1
	// CompareSplit keeps the size and shows the left half of the original and the right half of
	// the filtered picture. The line between them is two columns of white, at the first even
	// column at or before the middle; pictures narrower than 8 columns have no line.
	CompareSplit
)

func (m CompareMode) String() string {
	switch m {
	case CompareSide:
		return "side"
	case CompareSplit:
		return "split"
	}
	return fmt.Sprintf("compare(%d)", uint8(m))
}

const (
	lineWidth    = 2 // one chroma sample, if chroma is halved
	minSplitLine = 8
)

// CompareFormat returns the format of Compare's frames for frames of format f. It does not check
// the width, which CompareSide doubles, against the limits of encoders.
func CompareFormat(f Format, mode CompareMode) Format {
	if mode == CompareSide {
		f.Width = 2 * sideWidth(f)
	}
	return f
}

// sideWidth is the width of one half of CompareSide.
func sideWidth(f Format) int {
	shift, _ := f.ChromaShift()
	return ceilShift(f.Width, shift) << shift
}

// Compare returns a filter that runs inner and emits original and result in one frame. inner must
// emit one frame for each that it takes, of the same layout and size or of more bits, and not write
// to its inputs. Originals are kept as long as inner keeps them, so the source needs no more blocks
// in its pool than for inner alone. Results come from pool, which needs one block and no other
// users. Times and props are inner's.
func Compare(inner Filter, mode CompareMode, pool *Pool) Filter {
	return &compare{inner: inner, mode: mode, pool: pool}
}

type compare struct {
	inner     Filter
	mode      CompareMode
	pool      *Pool
	originals []*Frame // owned; of frames that inner still has, in order
}

func (c *compare) Held() int { return c.inner.Held() }

func (c *compare) Process(ctx context.Context, f *Frame, emit Emit) error {
	c.originals = append(c.originals, f.Retain())
	if err := c.inner.Process(ctx, f, c.join(ctx, emit)); err != nil {
		return err
	}
	// Checked at once: a filter that drops frames would let the originals use up the source's
	// pool.
	if n := len(c.originals); n > c.inner.Held() {
		return fmt.Errorf("pipeline: compare: filter %T owes %d frames and holds %d", c.inner, n, c.inner.Held())
	}
	return nil
}

func (c *compare) Flush(ctx context.Context, emit Emit) error {
	if err := c.inner.Flush(ctx, c.join(ctx, emit)); err != nil {
		return err
	}
	if n := len(c.originals); n > 0 {
		return fmt.Errorf("pipeline: compare: filter %T never emitted its last %d frames", c.inner, n)
	}
	return nil
}

func (c *compare) Discard() {
	Discard(c.inner)
	for _, f := range c.originals {
		f.Release()
	}
	c.originals = nil
}

// join returns inner's emit: it draws the oldest original and inner's result into one frame and
// passes that on.
func (c *compare) join(ctx context.Context, emit Emit) Emit {
	return func(result *Frame) error {
		out, err := c.compose(ctx, result)
		result.Release() // both inputs go back before emit blocks
		if err != nil {
			return err
		}
		return emit(out)
	}
}

func (c *compare) compose(ctx context.Context, result *Frame) (*Frame, error) {
	if len(c.originals) == 0 {
		return nil, fmt.Errorf("pipeline: compare: filter %T emitted more frames than it took", c.inner)
	}
	original := c.originals[0]
	c.originals = c.originals[1:]
	defer func() { original.Release() }()
	if a, b := original.Format, result.Format; a.Layout != b.Layout && a.Layout.At(b.Layout.Info().Depth) == b.Layout {
		deeper := Blank(b)
		deeper.CopySamples(original)
		original.Release()
		original = deeper
	}
	if a, b := original.Format, result.Format; a.Layout != b.Layout || a.Width != b.Width || a.Height != b.Height {
		return nil, fmt.Errorf("pipeline: compare: filter %T made %v of %v", c.inner, b, a)
	}
	var draw func(out, original, result *Frame)
	switch c.mode {
	case CompareSide:
		draw = drawSide
	case CompareSplit:
		draw = DrawSplit
	default:
		return nil, errors.New("pipeline: compare: unknown mode")
	}
	out, err := c.pool.NewFrame(ctx, CompareFormat(result.Format, c.mode))
	if err != nil {
		return nil, err
	}
	out.CopyTiming(result)
	draw(out, original, result)
	return out, nil
}

// sampleBytes returns the bytes of one column of plane i, and log2 of the luma columns that it
// covers.
func (f Format) sampleBytes(i int) (bytes, shift int) {
	info := f.Layout.info()
	bytes = info.SampleBytes()
	if i == 0 {
		return bytes * info.Samples, 0
	}
	if info.SemiPlanar {
		bytes *= 2
	}
	return bytes, info.SubX
}

func drawSide(out, original, result *Frame) {
	for i := range out.NumPlanes() {
		column, shift := out.sampleBytes(i)
		half := sideWidth(result.Format) >> shift * column
		_, rows := out.PlaneSize(i)
		for y := range rows {
			row := out.Row(i, y)
			fill(row[:half], original.Row(i, y), column)
			fill(row[half:], result.Row(i, y), column)
		}
	}
}

// fill copies src to the start of dst and repeats its last column up to the end.
func fill(dst, src []byte, column int) {
	for n := copy(dst, src); n < len(dst); n += column {
		copy(dst[n:], src[len(src)-column:])
	}
}

// DrawSplit fills out with the left half of original and the right half of result, as in
// CompareSplit. All three have the same layout and size.
func DrawSplit(out, original, result *Frame) {
	middle := out.Width / 2 &^ 1 // even, so that the line is in one place in every layout
	line := lineWidth
	if out.Width < minSplitLine {
		line = 0
	}
	for i := range out.NumPlanes() {
		column, shift := out.sampleBytes(i)
		from, to := middle>>shift*column, (middle+line)>>shift*column
		white, size := out.white(i), out.Layout.info().SampleBytes()
		_, rows := out.PlaneSize(i)
		for y := range rows {
			row := out.Row(i, y)
			copy(row[:from], original.Row(i, y))
			for x := from; x < to; x += size {
				copy(row[x:], white[:size])
			}
			copy(row[to:], result.Row(i, y)[to:])
		}
	}
}

// white returns a sample of white in plane i as it is in memory.
func (f Format) white(i int) (sample [2]byte) {
	info := f.Layout.info()
	white := 1<<info.Depth - 1
	switch {
	case !info.RGB && i > 0:
		white = 128 << (info.Depth - 8)
	case !info.RGB && !f.FullRange:
		white = 235 << (info.Depth - 8)
	}
	binary.LittleEndian.PutUint16(sample[:], uint16(white<<info.Shift))
	return sample
}
