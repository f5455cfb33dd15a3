package job

import (
	"errors"
	"math"
	"strings"

	"vidfilter/encode/spec"
	"vidfilter/encode/video"
	"vidfilter/internal/cli"
)

func splitTune(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(",./-+", r) })
}

const maxFramesInFlight = 4096

// newCodec takes other names of a codec, too.
func newCodec(p *string) *cli.Value[string] {
	return cli.Aliased(cli.OneOf(p, video.Commons()), func(s string) string {
		if c, ok := video.CodecNamed(s); ok {
			return c.Common
		}
		return s
	})
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
