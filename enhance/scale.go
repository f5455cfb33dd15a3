package enhance

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"vidfilter/internal/hint"
)

// Scale is a value of --scale. The zero value leaves the size.
type Scale struct {
	width, height int  // bounds of the picture as it is shown; 0: no bound
	turns         bool // the bounds lie on their side for an upright picture
	factor        float64
}

const scaleHint = "give a name (720p, 1080p, 4k), a size (1280:720, 1280:-2 or -2:720), or a factor (0.5)"

var lines = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[1-9][0-9]{1,3}p$`) })

// mostScaled bounds the sides of results, and mostFactor a factor.
const (
	mostScaled = 16384
	mostFactor = 16
)

// ParseScale reads the name of a format, a size that the picture is to fit in, or a factor.
func ParseScale(s string) (Scale, error) {
	name := strings.ToLower(s)
	switch name {
	case "4k":
		name = "2160p"
	case "8k":
		name = "4320p"
	}
	if lines().MatchString(name) {
		n, _ := strconv.Atoi(strings.TrimSuffix(name, "p"))
		if n < 2*leastSide || n%2 != 0 || n > mostScaled*9/16 {
			return Scale{}, hint.Errorf(scaleHint, "no such format")
		}
		return Scale{width: even(float64(n) * 16 / 9), height: n, turns: true}, nil
	}
	w, h, sized := strings.Cut(name, ":")
	if !sized {
		if w, h, sized = strings.Cut(name, "x"); h == "" {
			sized = false // 2x is a factor
		}
	}
	if sized {
		return parseSize(s, w, h)
	}
	x, err := strconv.ParseFloat(strings.TrimSuffix(name, "x"), 64)
	switch {
	case err != nil || math.IsNaN(x):
		return Scale{}, hint.Errorf(scaleHint, "unknown")
	case x > mostFactor && x == math.Trunc(x) && x <= mostScaled:
		return Scale{}, hint.Errorf(fmt.Sprintf("did you mean %.0fp, %.0f:-2 or -2:%.0f?", x, x, x),
			"a factor is at most %d", mostFactor)
	case !(x > 0) || x > mostFactor:
		return Scale{}, hint.Errorf(scaleHint, "a factor is above 0 and at most %d", mostFactor)
	}
	return Scale{factor: x}, nil
}

func parseSize(s, w, h string) (Scale, error) {
	var sc Scale
	to := []*int{&sc.width, &sc.height}
	for i, side := range []string{w, h} {
		if side == "" || side == "-1" || side == "-2" {
			continue
		}
		n, err := strconv.Atoi(side)
		if err != nil || n < leastSide || n > mostScaled {
			return Scale{}, hint.Errorf(scaleHint, "%q is not a side of %d to %d pixels", side, leastSide, mostScaled)
		}
		*to[i] = n
	}
	if sc == (Scale{}) {
		return Scale{}, hint.Errorf(scaleHint, "a side must be given")
	}
	return sc, nil
}

// even returns the nearest even number.
func even(x float64) int { return 2 * int(math.Round(x/2)) }

// Graph makes pixels square and sides even. The picture keeps its shape.
func (s Scale) Graph(f Facts) (string, error) {
	if s == (Scale{}) {
		return "", nil
	}
	sideways, _, _ := f.orientation()
	width, height := s.size(f, sideways)
	if sideways {
		width, height = height, width
	}
	switch {
	case min(width, height) < leastSide || max(width, height) > mostScaled:
		return "", hint.Errorf(fmt.Sprintf("sides are %d to %d pixels", leastSide, mostScaled),
			"--scale: a picture of %dx%d would become %dx%d", f.Format.Width, f.Format.Height, width, height)
	case f.Interlaced && height != f.Format.Height:
		return "", hint.Errorf("add --deinterlace; if they are not interlaced: --field-order progressive",
			"--scale: the frames are interlaced, and another height would mix their fields")
	case width == f.Format.Width && height == f.Format.Height:
		if f.aspect() == 1 {
			return "", nil
		}
		return "setsar=1", nil
	}
	if f.Format.Layout.Info().Gray() || f.cut() { // which zscale does not take
		return fmt.Sprintf("scale=w=%d:h=%d:flags=lanczos+accurate_rnd,setsar=1", width, height), nil
	}
	return fmt.Sprintf("zscale=w=%d:h=%d:filter=lanczos,setsar=1", width, height), nil
}

// size returns the size of the result as it is shown.
func (s Scale) size(f Facts, sideways bool) (width, height int) {
	w, h := float64(f.Format.Width), float64(f.Format.Height)
	if a := f.aspect(); a > 1 {
		w *= a
	} else {
		h /= a
	}
	if sideways {
		w, h = h, w
	}
	factor := s.factor
	if factor == 0 {
		boundW, boundH := float64(s.width), float64(s.height)
		if s.turns && h > w {
			boundW, boundH = boundH, boundW
		}
		factor = math.Inf(1)
		if boundW > 0 {
			factor = boundW / w
		}
		if boundH > 0 {
			factor = min(factor, boundH/h)
		}
	}
	return even(w*factor - 1e-6), even(h*factor - 1e-6)
}
