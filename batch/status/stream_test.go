package status

import (
	"bufio"
	"context"
	"net/http"
	"os"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"vidfilter/internal/e2e"
)

type lineReader struct{ lines *bufio.Scanner }

func (r *lineReader) next(t *testing.T) string {
	t.Helper()
	if !r.lines.Scan() {
		t.Fatalf("the stream has ended: %v", r.lines.Err())
	}
	return r.lines.Text()
}

// stream opens a stream, which ends with the test.
func (s *host) stream(path string) *lineReader {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	r, err := http.NewRequestWithContext(ctx, "GET", s.url+path, nil)
	e2e.Must(s.t, err)
	a, err := client.Do(r)
	e2e.Must(s.t, err)
	s.t.Cleanup(func() { cancel(); a.Body.Close() })
	if a.StatusCode != 200 || a.Header.Get("Content-Type") != "text/event-stream" {
		s.t.Fatal(a.StatusCode, a.Header)
	}
	lines := bufio.NewScanner(a.Body)
	lines.Buffer(nil, 1<<20)
	return &lineReader{lines}
}

// TestMain fails if a test has left a goroutine of this package behind.
func TestMain(m *testing.M) {
	code := m.Run()
	var left string
	for range 100 {
		var b strings.Builder
		pprof.Lookup("goroutine").WriteTo(&b, 2)
		left = ""
		for g := range strings.SplitSeq(b.String(), "\n\n") {
			if strings.Contains(g, "vidfilter/batch/status.") && !strings.Contains(g, "status.TestMain") {
				left += g + "\n"
			}
		}
		if left == "" {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if left != "" {
		println("left behind:\n" + left)
		code = 1
	}
	os.Exit(code)
}
