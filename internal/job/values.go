package job

import (
	"errors"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"vidfilter/encode/spec"
	"vidfilter/encode/video"
	"vidfilter/internal/cli"
)

func splitTune(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(",./-+", r) })
}

const (
	MaxThreads        = 4096
	maxFramesInFlight = 4096
)

// newCodec takes other names of a codec, too.
func newCodec(p *string) *cli.Value[string] {
	return cli.Aliased(cli.OneOf(p, video.Commons()), func(s string) string {
		if c, ok := video.CodecNamed(s); ok {
			return c.Common
		}
		return s
	})
}

func NewDevice(p *Device) *cli.Value[Device] {
	return cli.Aliased(cli.Names(cli.NewValue(p, "NAME", ParseDevice), DeviceNames), usualDevice)
}

// usualDevice returns what gpu and nvidia stand for.
func usualDevice(s string) string {
	s = strings.ToLower(s)
	for _, alias := range []string{"gpu", "nvidia"} {
		if rest, ok := strings.CutPrefix(s, alias); ok && (rest == "" || rest[0] == ':') {
			return "cuda" + rest
		}
	}
	return s
}

func ParseDevice(s string) (Device, error) {
	if s == "cuda:all" {
		return Device{Kind: "cuda", All: true}, nil
	}
	if list, ok := strings.CutPrefix(s, "cuda:"); ok {
		indexes, err := parseIndexes(list)
		return Device{Kind: "cuda", Indexes: indexes}, err
	}
	if !slices.Contains(DeviceNames, s) {
		return Device{}, cli.UnknownName(append(slices.Clone(DeviceNames), "cuda:0", "cuda:0,2"), s)
	}
	return Device{Kind: s}, nil
}

// parseIndexes reads numbers of GPUs: 0, or 0,2.
func parseIndexes(list string) (indexes []int, err error) {
	const hint = "GPUs are numbered from 0; vidfilter devices lists them"
	for n := range strings.SplitSeq(list, ",") {
		i, err := cli.IntIn(0, 255)(n)
		switch {
		case err != nil:
			return nil, cli.Usagef(hint, "no such number of a GPU")
		case slices.Contains(indexes, i):
			return nil, cli.Usagef(hint, "a GPU is named twice")
		}
		indexes = append(indexes, i)
	}
	return indexes, nil
}

func ParseCRF(s string) (float64, error) {
	x, err := cli.Number(s)
	if err == nil && !(x >= 0) {
		err = errors.New("must not be below 0")
	}
	if err != nil {
		return 0, cli.Usagef(DefaultCodec.Quality.About, "%v", err)
	}
	return x, nil // the codec knows the end of its range
}

func parseGOP(s string) (int, error) {
	n, err := cli.IntIn(1, math.MaxInt32)(s)
	if err != nil {
		return 0, cli.Usagef("1 makes every frame a key frame; left out, the encoder chooses", "%v", err)
	}
	return n, nil
}

// frameRate matches values of ffmpeg's -r.
var frameRate = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9]+\.[0-9]+|[0-9]+/[0-9]+|1[6-9]|[2-9][0-9]|1[0-9]{2}|240)(fps)?$|^(ntsc|pal|film|ntsc-film)$`)
})

func parseBitrate(s string) (int64, error) {
	n, err := cli.ParseAmount(s)
	switch {
	case err != nil:
		return 0, cli.Usagef("a bit rate is bits a second: 5M, 800k, 2500000", "%v", err)
	case n < 1000:
		return 0, cli.Usagef("a bit rate is bits a second: did you mean "+s+"k or "+s+"M?", "less than any video takes")
	case n > math.MaxInt32:
		return 0, cli.Usagef("the encoder takes at most 2147M", "more than the encoder takes")
	}
	return n, nil
}

func parseX264(s string) (spec.Params, error) {
	if s == "" {
		return nil, errors.New("the value is empty")
	}
	return video.ParseX264(s)
}
