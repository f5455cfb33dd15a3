package main

import (
	"errors"
	"fmt"
	"testing"

	"vidfilter/gpu"
)

// A GPU's line lists its codecs, each with all depths and chroma formats, or why it has no codec.
func TestDescribeCoding(t *testing.T) {
	small, large := gpu.Caps{Engines: 2, Width: 4096, Height: 4096}, gpu.Caps{Engines: 2, Width: 8192, Height: 8192}
	for _, c := range []struct {
		all  []gpu.Coding
		err  error
		want string
	}{
		{nil, nil, "cuda:0 encodes nothing"},
		{nil, fmt.Errorf("%w: all are open", gpu.ErrNVENCFull), "cuda:0 encodes nothing now: NVENC not available: it opens no further session: all are open"},
		{nil, errors.New("it has no NVENC"), "cuda:0 encodes nothing: it has no NVENC"},
		{
			[]gpu.Coding{
				{Codec: "h264", Chroma: 420, Depth: 8, Caps: small}, {Codec: "h264", Chroma: 444, Depth: 8, Caps: small},
				{Codec: "hevc", Chroma: 420, Depth: 8, Caps: large}, {Codec: "hevc", Chroma: 420, Depth: 10, Caps: large},
				{Codec: "av1", Chroma: 420, Depth: 8, Caps: large},
			}, nil,
			"cuda:0 encodes with 2 engines: H.264 (8 bits, 4:2:0, 4:4:4) to 4096x4096, HEVC (8, 10 bits, 4:2:0) to 8192x8192, AV1 (8 bits, 4:2:0) to 8192x8192",
		},
	} {
		if got := describeCoding(gpu.Device{}, "encodes", c.all, c.err); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}
