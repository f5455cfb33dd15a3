package tasks

import (
	"slices"
	"strings"
	"testing"

	"vidfilter/batch/queue"
)

// FuzzLines reads anything that a child may say, whole and in pieces: what is understood does not
// depend on how it was written, no count is negative, and memory has a bound.
func FuzzLines(f *testing.F) {
	for _, s := range []string{
		"vidfilter: no GPU\n{\"type\":\"progress\",\"frame\":7,\"total\":50,\"fps\":2.5,\"size\":1000}\n",
		"{\"type\":\"done\",\"exit_code\":4,\"error\":\"disk full\",\"cause\":\"no-space\"}\nhint: free some space\n",
		"{\"type\":\"progress\",\"frame\":-7,\"total\":-1,\"fps\":-1e308,\"size\":9223372036854775807}", "{}\n\n{", "\r\n\x00",
	} {
		f.Add([]byte(s), uint16(5))
	}
	f.Fuzz(func(t *testing.T, b []byte, piece uint16) {
		whole, pieces := read(t, b, len(b)+1), read(t, b, int(piece)+1)
		if len(b) < longestLine && (whole.last != pieces.last || !slices.Equal(whole.seen, pieces.seen)) {
			t.Errorf("at once: %+v, in pieces: %+v", whole, pieces)
		}
	})
}

// heard is what was understood of a child.
type heard struct {
	last string
	seen []queue.Progress
}

func read(t *testing.T, b []byte, piece int) (h heard) {
	f := &follower{report: func(p queue.Progress) {
		if p.Frames < 0 || p.Total < 0 || p.Bytes < 0 || !(p.FPS >= 0) {
			t.Errorf("progress %+v", p)
		}
		h.seen = append(h.seen, p)
	}}
	was := int64(0)
	l := &lines{seen: func(line []byte) {
		f.line(line)
		if now := f.last.Load(); now < was {
			t.Errorf("progress goes back from %d to %d", was, now)
		} else {
			was = now
		}
	}}
	for part := range slices.Chunk(b, piece) {
		if n, err := l.Write(part); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
		if len(l.rest) > longestLine {
			t.Errorf("%d bytes are kept", len(l.rest))
		}
	}
	l.flush()
	if strings.ContainsRune(l.last, '\n') {
		t.Errorf("the last line is %q", l.last)
	}
	h.last = l.last
	return h
}
