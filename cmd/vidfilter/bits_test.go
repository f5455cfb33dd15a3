package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"vidfilter/internal/contract"
	"vidfilter/internal/e2e"
)

// TestBitsDoNotDependOnMemory filters one clip twice, with glibc filling fresh memory with
// different values. The results differ if the coded bits depend on uninitialised memory. Some of
// x264's code for AVX-512 does that for this clip, with each of these values.
func TestBitsDoNotDependOnMemory(t *testing.T) {
	dir := t.TempDir()
	clip := filepath.Join(dir, "in.y4m")
	e2e.Must(t, os.WriteFile(clip, texturedClip(160, 90, 50), 0o600))
	var first []byte
	for i, fill := range []int{0, 3, 200} {
		p := vidfilterIn(t, dir, "-i", clip, "-o", "out.mp4", "-y", "-q", "-r", "1", "--preset", "veryfast", "--threads", "3")
		p.Env = append(os.Environ(), fmt.Sprintf("MALLOC_PERTURB_=%d", fill))
		p.start().wantExit(contract.ExitDone)
		got := e2e.Read(t, filepath.Join(dir, "out.mp4"))
		if i == 0 {
			first = got
		} else if !bytes.Equal(got, first) {
			t.Errorf("with memory full of %d the file is another one", fill)
		}
	}
}

// texturedClip returns a Y4M file with detail that moves, and a cut each second, so that x264's
// lookahead has much to weigh.
func texturedClip(width, height, frames int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "YUV4MPEG2 W%d H%d F25:1 Ip A1:1 C420jpeg\n", width, height)
	for i := range frames {
		b.WriteString("FRAME\n")
		for y := range height {
			for x := range width {
				noise := uint32(x*7919 + y*104729 + i*1299709)
				noise ^= noise >> 13
				noise *= 2654435761
				b.WriteByte(byte((x*3+i*2)^(y*2+i))/2 + byte(noise>>16&15) + byte(i/25%2*40))
			}
		}
		for range height / 2 {
			for x := range width / 2 {
				b.WriteByte(byte(x + i))
			}
		}
		for y := range height / 2 {
			for range width / 2 {
				b.WriteByte(byte(y*2 - i))
			}
		}
	}
	return b.Bytes()
}
