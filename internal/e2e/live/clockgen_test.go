package live

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"
	"time"

	"vidfilter/internal/e2e"
	"vidfilter/samples/scene"
)

// generating makes this test binary a source of pictures with a clock: "1280x720".
const generating = "VIDFILTER_CLOCK_SIZE"

func TestMain(m *testing.M) {
	if size := os.Getenv(generating); size != "" {
		if err := generate(os.Stdout, size); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	e2e.Main(m, 2)
}

// The clock in a picture: the milliseconds of Unix time modulo 2^32 as a row of blocks, the
// highest bit on the left, white for 1, and below it their complement.
const (
	clockBlock = 16 // side of a block
	clockBits  = 32
	clockX     = 64 // of the left upper corner
	clockY     = 32
)

// generate writes y4m, 30 pictures a second, each with the time at which it is written. A picture
// for which the reader has no room yet is left out, as by a camera.
func generate(w io.Writer, size string) error {
	var width, height int
	if _, err := fmt.Sscanf(size, "%dx%d", &width, &height); err != nil {
		return fmt.Errorf("%s=%s: %w", generating, size, err)
	}
	const drawn, fps, noise = 8, 30, 4 * 256
	var y4m bytes.Buffer
	if err := scene.WriteY4M(&y4m, scene.Config{Width: width, Height: height, Frames: drawn, RateNum: fps, RateDen: 1, Noise: noise}); err != nil {
		return err
	}
	const mark = "FRAME\n"
	from := bytes.Index(y4m.Bytes(), []byte(mark))
	header, frames := y4m.Bytes()[:from], y4m.Bytes()[from:]
	pictures := slices.Collect(slices.Chunk(frames, len(frames)/drawn))
	for n := drawn - 2; n > 0; n-- { // to and fro
		pictures = append(pictures, pictures[n])
	}
	if _, err := w.Write(header); err != nil {
		return err
	}
	tick := time.NewTicker(time.Second / fps)
	for n := 0; ; n++ {
		<-tick.C
		p := pictures[n%len(pictures)]
		drawClock(p[len(mark):], width, uint32(time.Now().UnixMilli()))
		if _, err := w.Write(p); err != nil {
			return nil // the reader has enough
		}
	}
}

func drawClock(luma []byte, width int, now uint32) {
	for row := range 2 * clockBlock {
		bits := now
		if row >= clockBlock {
			bits = ^now
		}
		line := luma[(clockY+row)*width+clockX:]
		for bit := range clockBits {
			v := byte(16)
			if bits>>(clockBits-1-bit)&1 == 1 {
				v = 235
			}
			for x := range clockBlock {
				line[bit*clockBlock+x] = v
			}
		}
	}
}

// The clock's page script reads back this layout.
func TestClockIsDrawn(t *testing.T) {
	const width = 640
	luma := make([]byte, width*96)
	for _, now := range []uint32{0, 1, 0xdeadbeef, 1 << 31} {
		drawClock(luma, width, now)
		var got, not [4]byte
		for bit := range clockBits {
			at := (clockY+clockBlock/2)*width + clockX + bit*clockBlock + clockBlock/2
			got[bit/8] = got[bit/8]<<1 | luma[at]>>7
			not[bit/8] = not[bit/8]<<1 | luma[at+clockBlock*width]>>7
		}
		if a, b := binary.BigEndian.Uint32(got[:]), binary.BigEndian.Uint32(not[:]); a != now || b != ^now {
			t.Errorf("%x is drawn as %x, %x", now, a, b)
		}
	}
}
