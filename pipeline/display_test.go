package pipeline

import (
	"bytes"
	"fmt"
	"testing"
)

func TestDrawTurned(t *testing.T) {
	frame := func(w, h int) *Frame {
		f := Format{Layout: YUV420P, Width: w, Height: h}
		var planes [4]Plane
		for i := range 3 {
			pw, ph := f.PlaneSize(i)
			planes[i] = Plane{Data: make([]byte, (pw+3)*ph), Pitch: pw + 3}
		}
		return NewFrame(f, planes, nil, nil)
	}
	in := frame(5, 3)
	for i := range 3 {
		w, h := in.PlaneSize(i)
		for y := range h {
			for x := range w {
				in.Row(i, y)[x] = byte(100*i + 10*y + x)
			}
		}
	}
	rows := func(f *Frame, i int) (s string) {
		_, h := f.PlaneSize(i)
		for y := range h {
			s += fmt.Sprintln(f.Row(i, y))
		}
		return s
	}
	for turn, want := range map[int][2]string{
		0:   {"[0 1 2 3 4]\n[10 11 12 13 14]\n[20 21 22 23 24]\n", "[100 101 102]\n[110 111 112]\n"},
		90:  {"[20 10 0]\n[21 11 1]\n[22 12 2]\n[23 13 3]\n[24 14 4]\n", "[110 100]\n[111 101]\n[112 102]\n"},
		180: {"[24 23 22 21 20]\n[14 13 12 11 10]\n[4 3 2 1 0]\n", "[112 111 110]\n[102 101 100]\n"},
		270: {"[4 14 24]\n[3 13 23]\n[2 12 22]\n[1 11 21]\n[0 10 20]\n", "[102 112]\n[101 111]\n[100 110]\n"},
	} {
		w, h := Display{Turn: turn}.Size(5, 3)
		out := frame(w, h)
		DrawTurned(out, in, turn)
		if got := [2]string{rows(out, 0), rows(out, 1)}; got != want {
			t.Errorf("%d: %v", turn, got)
		}
		if !bytes.Equal(out.Planes[0].Data[w:w+3], []byte{0, 0, 0}) {
			t.Errorf("%d: the padding is written", turn)
		}
	}
}

func TestDisplaySize(t *testing.T) {
	for _, c := range []struct {
		d    Display
		w, h int
	}{
		{Display{}, 640, 360}, {Display{180, 1}, 640, 360}, {Display{90, 1}, 360, 640}, {Display{270, 0}, 360, 640},
		{Display{0, 64.0 / 45}, 910, 360}, {Display{0, 0.5}, 640, 720}, {Display{90, 2}, 360, 1280},
	} {
		if w, h := c.d.Size(640, 360); w != c.w || h != c.h {
			t.Errorf("%+v: %dx%d instead of %dx%d", c.d, w, h, c.w, c.h)
		}
	}
}
