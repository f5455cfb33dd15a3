package live

import (
	"context"
	"io"
	"testing"
	"time"

	"vidfilter/internal/e2e"
)

// TestMicrophone: samples that come in time have the times at which they were taken, those that
// waited in the pipe too, and they stand beside the pictures of a camera.
func TestMicrophone(t *testing.T) {
	from, to := io.Pipe()
	ended := make(chan error, 1)
	m, err := NewMicrophone(from, func(err error) { ended <- err })
	e2e.Must(t, err)
	h := newHand()
	in := h.input(Camera)
	in.Open = m.Beside(in.Open)
	r := start(t, Options{Input: in})
	ear := r.Hear()
	defer ear.Close()
	w := r.Watch(8)
	defer w.Close()
	h.take(r, 0)
	p := r.next(w)
	if p.At != time.Duration(p.Taken.UnixNano()) {
		t.Errorf("a picture of %v is at %v", p.Taken, p.At)
	}
	p.Release()
	for range 10 { // at once
		if _, err := to.Write(make([]byte, microphoneBytes)); err != nil {
			t.Fatal(err)
		}
	}
	begin := time.Now()
	for n := range time.Duration(20) { // in time
		time.Sleep(time.Until(begin.Add((n + 1) * microphonePiece)))
		if _, err := to.Write(make([]byte, microphoneBytes)); err != nil {
			t.Fatal(err)
		}
	}
	end := time.Duration(time.Now().UnixNano())
	to.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	var last Sound
	heard := 0
	for {
		ctx, cancel := context.WithTimeout(r.ctx, 200*time.Millisecond)
		x, err := ear.Next(ctx)
		cancel()
		if err != nil {
			break // that was all
		}
		heard++
		if x.At <= last.At || len(x.Data) != microphoneBytes || x.Track == nil || x.Taken.UnixNano() != int64(x.At) {
			t.Errorf("%d bytes at %v after %v", len(x.Data), x.At, last.At)
		}
		last = x
	}
	if heard < 20 || heard > 30 {
		t.Errorf("%d pieces of 30", heard)
	}
	if d := end - last.At; d < 0 || d > 100*time.Millisecond {
		t.Errorf("the last piece was taken %v before the end", d)
	}
}
