package coded

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/bluenviron/mediacommon/v2/pkg/formats/mpegts"
)

var errEnough = errors.New("enough")

// few accepts left writes, then fails.
type few struct {
	bytes.Buffer
	left int
}

func (f *few) Write(b []byte) (int, error) {
	if f.left--; f.left < 0 {
		return 0, errEnough
	}
	return f.Buffer.Write(b)
}

func TestTS(t *testing.T) {
	s, _, _ := open(t)
	r := s.Read()
	defer r.Close()
	out := &few{left: 20}
	if err := WriteTS(t.Context(), r, out); !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
	in := &mpegts.Reader{R: &out.Buffer}
	if err := in.Initialize(); err != nil || len(in.Tracks()) != 1 {
		t.Fatalf("%v, %v", in.Tracks(), err)
	}
	n, last := 0, int64(-1)
	in.OnDataH264(in.Tracks()[0], func(pts, dts int64, au [][]byte) error {
		if pts != dts || pts <= last || n > 0 && pts-last > 90_000 {
			t.Errorf("picture %d at %d after %d", n, pts, last)
		}
		if n == 0 && au[0][0]&31 != 7 && au[1][0]&31 != 7 {
			t.Error("it begins without parameter sets")
		}
		n, last = n+1, pts
		return nil
	})
	for in.Read() == nil {
	}
	if n < 19 {
		t.Errorf("%d pictures", n)
	}
	if got := ticks(time.Second); got != 180_000 {
		t.Error(got)
	}
}
