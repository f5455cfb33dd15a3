package encode

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// An encoder that swallows a frame is found out, though the file holds all that it gave.
func TestVerifyCountsWhatTheEncoderGave(t *testing.T) {
	o := &Output{coder: coder{frames: 12}, written: 11}
	if err := o.Verify(); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "12 frames went into the encoder and 11 came out") {
		t.Errorf("%v", err)
	}
}

// A file with a read error has not reached its end. The error stands for a server that
// disconnects.
func TestInspectFailsHalfway(t *testing.T) {
	file, err := exec.Command("ffmpeg", "-v", "error", "-i", "../samples/noisy.mp4", "-c", "copy", "-f", "mpegts", "pipe:1").Output()
	if err != nil {
		t.Skip(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(file)+188))
		_, _ = w.Write(file)
	}))
	defer server.Close()
	if _, err := inspect(server.URL, "mpegts", 0, false); err == nil || !strings.Contains(err.Error(), "Input/output error") {
		t.Errorf("%v", err)
	}
}
