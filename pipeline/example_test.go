package pipeline_test

import (
	"context"
	"fmt"
	"io"

	"vidfilter/pipeline"
)

// A source draws gray frames, a filter keeps every second one, and a sink prints them.
func Example() {
	src, sink := &gray{left: 6}, printer{}
	if err := pipeline.Run(context.Background(), src, []pipeline.Filter{&halve{}}, sink, pipeline.Options{}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// frame 0: gray 64x48, brightness 0
	// frame 2: gray 64x48, brightness 20
	// frame 4: gray 64x48, brightness 40
}

type gray struct{ left, next int }

func (g *gray) Next(context.Context) (*pipeline.Frame, error) {
	if g.next == g.left {
		return nil, io.EOF
	}
	f := pipeline.Blank(pipeline.Format{Layout: pipeline.GRAY, Width: 64, Height: 48})
	for i := range f.Planes[0].Data {
		f.Planes[0].Data[i] = byte(10 * g.next)
	}
	f.PTS = int64(g.next)
	g.next++
	return f, nil
}

// halve owns the frames that Process takes: it passes them on or releases them.
type halve struct{ seen int }

func (h *halve) Process(_ context.Context, f *pipeline.Frame, emit pipeline.Emit) error {
	h.seen++
	if h.seen%2 == 1 {
		return emit(f)
	}
	f.Release()
	return nil
}

func (*halve) Flush(context.Context, pipeline.Emit) error { return nil }

func (*halve) Held() int { return 0 }

type printer struct{}

func (printer) Put(_ context.Context, f *pipeline.Frame) error {
	defer f.Release()
	fmt.Printf("frame %d: %v, brightness %d\n", f.PTS, f.Format, f.Planes[0].Data[0])
	return nil
}

func (printer) Finish(context.Context) error { return nil }
