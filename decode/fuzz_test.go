package decode_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/asticode/go-astiav"
	"golang.org/x/sys/unix"

	"vidfilter/decode"
	"vidfilter/internal/av"
	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// FuzzDemux opens arbitrary bytes as a file and reads some frames. It always ends, every error
// blames the input, every row of every frame is readable, and all blocks return to the pool.
func FuzzDemux(f *testing.F) {
	av.SetLog(astiav.LogLevelQuiet, func(astiav.LogLevel, string) {})
	seeds, err := filepath.Glob("testdata/seeds/*.*")
	if err != nil || len(seeds) == 0 {
		f.Fatal("no seeds: ", err)
	}
	for _, name := range seeds {
		data := e2e.Read(f, name)
		f.Add(data)
	}
	cpu, err := kernels.NewCPU(1, "")
	e2e.Must(f, err)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 || len(data) > 1<<20 {
			return
		}
		path := memoryFile(t, data)
		pool := pipeline.NewPool(cpu, 1)
		defer pool.Close()
		// A file may ask for more work than it is long, so time ends it; that must work within a
		// moment.
		const enough, moment = time.Second, 10 * time.Second
		ctx, cancel := context.WithTimeout(t.Context(), enough)
		defer cancel()
		began := time.Now()
		readSome(t, ctx, path, pool)
		if d := time.Since(began); d > enough+moment {
			t.Errorf("%v", d)
		}
		if n := pool.InUse(); n != 0 {
			t.Errorf("%d blocks are left out", n)
		}
	})
}

// TestAbsurdWishForMemory: a packet that claims a gigantic picture is damage, not a machine out of
// memory.
func TestAbsurdWishForMemory(t *testing.T) {
	pool := newPool(t)
	flv := "FLV\x010\x00\x00\x00\t0000)00000000002\x00\x00\x840\xcf0\x00\x00\x82" + strings.Repeat("0", 76)
	in, err := decode.Open(t.Context(), memoryFile(t, []byte(flv)), pool, decode.Options{MaxPixels: 1 << 16, MaxErrorRate: 1})
	e2e.Must(t, err)
	defer in.Close()
	if _, err := in.Next(t.Context()); !errors.Is(err, decode.ErrUnreadable) || in.Damage().DecodeErrors == 0 {
		t.Errorf("%v, %d decode errors", err, in.Damage().DecodeErrors)
	}
}

// memoryFile returns the name of a file that holds data and is on no disk.
func memoryFile(t *testing.T, data []byte) string {
	fd, err := unix.MemfdCreate("input", unix.MFD_CLOEXEC)
	if err != nil {
		t.Skip("no file in memory: ", err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	for rest := data; len(rest) > 0; {
		n, err := unix.Write(fd, rest)
		e2e.Must(t, err)
		rest = rest[n:]
	}
	return fmt.Sprintf("/dev/fd/%d", fd)
}

func readSome(t *testing.T, ctx context.Context, path string, pool *pipeline.Pool) {
	in, err := decode.Open(ctx, path, pool, decode.Options{MaxPixels: 1 << 16, Threads: 1, MaxErrorRate: 1, Frames: 20})
	if err != nil {
		wantInputError(t, ctx, err)
		return
	}
	defer in.Close()
	packets := 0
	in.OnPacket(func(p *astiav.Packet) error { packets += p.Size(); return nil })
	in.Describe()
	var sum byte
	last := int64(0)
	for n := 0; ; n++ {
		f, err := in.Next(ctx)
		if err == io.EOF {
			_ = in.Damage().Counts()
			return
		}
		if err != nil {
			wantInputError(t, ctx, err)
			return
		}
		if n > 0 && f.PTS <= last {
			t.Errorf("frame %d is at %d, the one before at %d", n, f.PTS, last)
		}
		last = f.PTS
		sum += touch(f)
		f.Release()
	}
}

func touch(f *pipeline.Frame) (sum byte) {
	for i, y := range f.Rows() {
		for _, b := range f.Row(i, y) {
			sum += b
		}
	}
	return sum
}

// wantInputError also accepts a lack of memory: a file may ask for more than FFmpeg gives.
func wantInputError(t *testing.T, ctx context.Context, err error) {
	if av.Errno(err) == int(unix.ENOMEM) {
		return
	}
	if !errors.Is(err, decode.ErrUnreadable) && ctx.Err() == nil {
		t.Errorf("not an error of the input: %v", err)
	}
}

// FuzzStream feeds arbitrary bytes to a stream as pictures, each after its length in two bytes.
// Every error blames the input, every row is readable, and all blocks return to the pool.
func FuzzStream(f *testing.F) {
	av.SetLog(astiav.LogLevelQuiet, func(astiav.LogLevel, string) {})
	codecs := []string{"h264", "vp8", "jpeg"}
	c := newCoder(f, "libx264", 32, 32)
	f.Add(uint8(0), framed([][]byte{c.picture(true), c.picture(false), c.picture(false)}))
	f.Add(uint8(1), framed(packetsOf(f, "testdata/seeds/vp8.webm")))
	f.Add(uint8(2), framed(packetsOf(f, "testdata/seeds/mjpeg.mkv")))
	cpu, err := kernels.NewCPU(1, "")
	e2e.Must(f, err)
	f.Fuzz(func(t *testing.T, codec uint8, data []byte) {
		if len(data) > 1<<18 {
			return
		}
		pool := pipeline.NewPool(cpu, 1)
		defer pool.Close()
		s, err := decode.OpenStream(codecs[int(codec)%len(codecs)], pool, decode.StreamOptions{MaxPixels: 1 << 16, Threads: 2})
		e2e.Must(t, err)
		for began := time.Now(); len(data) > 2 && time.Since(began) < time.Second; {
			n := min(int(data[0])<<8|int(data[1]), len(data)-2)
			feedPicture(t, s, data[2:2+n])
			data = data[2+n:]
		}
		s.Close()
		if n := pool.InUse(); n != 0 {
			t.Errorf("%d blocks are left out", n)
		}
	})
}

func feedPicture(t *testing.T, s *decode.Stream, picture []byte) {
	const long = 5 * time.Second
	began := time.Now()
	f, err := s.Decode(picture, 7)
	if d := time.Since(began); d > long {
		t.Errorf("a picture of %d bytes takes %v", len(picture), d)
	}
	if err != nil && !errors.Is(err, decode.ErrUnreadable) {
		t.Errorf("not an error of the input: %v", err)
	}
	if f != nil {
		if f.Width*f.Height > 1<<16 {
			t.Errorf("%v is larger than allowed", f.Format)
		}
		touch(f)
		f.Release()
	}
}

func framed(pictures [][]byte) (b []byte) {
	for _, p := range pictures {
		b = append(append(b, byte(len(p)>>8), byte(len(p))), p...)
	}
	return b
}
