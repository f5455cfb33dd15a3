package decode

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vidfilter/internal/e2e"
)

func ebml(id uint32, parts ...[]byte) []byte {
	body := slices.Concat(parts...)
	head := bytes.TrimLeft(binary.BigEndian.AppendUint32(nil, id), "\x00")
	return slices.Concat(head, binary.BigEndian.AppendUint64(nil, uint64(len(body))|1<<56), body)
}

// slowTags is a Matroska file that FFmpeg opens in a time by the cube of n.
func slowTags(n int) []byte {
	var tags []byte
	for i := range n {
		tags = append(tags, ebml(0x7373, ebml(0x67c8, ebml(0x45a3, fmt.Appendf(nil, "KEY%06d", i)), ebml(0x4487, []byte("v"))))...)
	}
	return slices.Concat(
		ebml(0x1a45dfa3, ebml(0x4282, []byte("matroska"))),
		ebml(0x18538067, ebml(0x1549a966), ebml(0x1654ae6b, ebml(0xae,
			ebml(0xd7, []byte{1}), ebml(0x83, []byte{1}), ebml(0x86, []byte("V_UNCOMPRESSED")),
			ebml(0xe0, ebml(0xb0, []byte{64}), ebml(0xba, []byte{48}), ebml(0x2eb524, []byte("I420"))),
		)), ebml(0x1254c367, tags), ebml(0x1f43b675, ebml(0xe7, []byte{0}), ebml(0xa3, []byte{0x81, 0, 0, 0x80}, make([]byte, 64*48*3/2)))))
}

// Opening a file ends in time although FFmpeg goes on: at the limit of its work, and on
// cancellation.
func TestOpeningEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tags.mkv")
	e2e.Must(t, os.WriteFile(path, slowTags(1300), 0o600))
	before := openingWork
	defer func() { openingWork = before }()
	unwanted := errors.New("no longer wanted")
	for _, c := range []struct {
		work time.Duration
		end  error
		says string
	}{{100 * time.Millisecond, nil, "to open it takes more than 100ms of work"}, {before, unwanted, "no longer wanted"}} {
		openingWork = c.work
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		if c.end != nil {
			time.AfterFunc(200*time.Millisecond, func() { cancel(c.end) })
		}
		begun := time.Now()
		in, err := Open(ctx, path, nil, Options{})
		if in != nil || err == nil || !strings.Contains(err.Error(), c.says) || c.end == nil && !errors.Is(err, ErrUnreadable) {
			t.Errorf("%v, want %q", err, c.says)
		}
		if took := time.Since(begun); took > abandonAfter+2*time.Second {
			t.Errorf("%s: it took %v", c.says, took)
		}
	}
}

// pngOf returns a PNG without a picture, of these chunks.
func pngOf(chunks ...[]byte) []byte {
	b := []byte("\x89PNG\r\n\x1a\n")
	for _, c := range chunks {
		b = binary.BigEndian.AppendUint32(b, uint32(len(c)-4))
		b = binary.BigEndian.AppendUint32(append(b, c...), crc32.ChecksumIEEE(c))
	}
	return b
}

func deflated(n int) string {
	var b bytes.Buffer
	w, _ := zlib.NewWriterLevel(&b, zlib.BestSpeed)
	_, _ = w.Write(make([]byte, n))
	w.Close()
	return b.String()
}

// The data of a PNG beside its samples may unpack to a limited size in total.
func TestOverfull(t *testing.T) {
	small, large := deflated(4<<20), deflated(17<<20)
	for name, c := range map[string]struct {
		chunks []string
		want   string
	}{
		"none":            {[]string{"IHDR", "IDATx"}, ""},
		"small":           {[]string{"iCCPx\x00\x00" + small, "zTXtx\x00\x00" + small, "IDATx"}, ""},
		"profile":         {[]string{"IHDR", "iCCPx\x00\x00" + large}, "colour profile"},
		"text":            {[]string{"zTXtx\x00\x00" + large}, "text"},
		"texts":           {slices.Repeat([]string{"zTXtx\x00\x00" + small}, 5), "text"},
		"UTF-8":           {[]string{"iTXtx\x00\x01\x00en\x00y\x00" + large}, "text"},
		"UTF-8, as it is": {[]string{"iTXtx\x00\x00\x00en\x00y\x00" + large}, ""},
		"samples":         {[]string{"IDAT" + large}, ""},
		"cut":             {[]string{"iCCP", "zTXtx", "iTXtx\x00", "iTXtx\x00\x01", "zTXtx\x00\x00" + large[:9]}, ""},
	} {
		var chunks [][]byte
		for _, s := range c.chunks {
			chunks = append(chunks, []byte(s))
		}
		whole := pngOf(chunks...)
		for _, data := range [][]byte{whole, whole[8:]} { // as in the header of an APNG
			if got := overfull(data); got != c.want {
				t.Errorf("%s: %q", name, got)
			}
		}
	}
}
