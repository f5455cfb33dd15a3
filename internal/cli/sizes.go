package cli

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

var errTime = Usagef("a time is 90, 1:30, 1:02:30.5, 200ms or 5us", "not a time")

// A time is [HH:]MM:SS[.m], or seconds with a unit.
var (
	clockTime = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:(\d{1,4}):)?([0-5]?\d):([0-5]?\d)(?:\.(\d*))?$`) })
	plainTime = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d{1,18})?(?:\.(\d*))?(s|ms|us)?$`) })
)

// ParseTime reads a time as ffmpeg does, cut to microseconds.
func ParseTime(s string) (time.Duration, error) {
	if m := clockTime().FindStringSubmatch(s); m != nil {
		seconds := atoi(m[1])*3600 + atoi(m[2])*60 + atoi(m[3])
		return time.Duration(seconds)*time.Second + fraction(m[4], time.Second), nil
	}
	m := plainTime().FindStringSubmatch(s)
	if m == nil || strings.Trim(s, ".smu") == "" {
		return 0, errTime
	}
	unit := map[string]time.Duration{"": time.Second, "s": time.Second, "ms": time.Millisecond, "us": time.Microsecond}[m[3]]
	whole := atoi(m[1])
	if whole > int64(maxTime/unit) {
		return 0, errors.New("too long a time")
	}
	return time.Duration(whole)*unit + fraction(m[2], unit), nil
}

// maxTime leaves room to add two times.
const maxTime = time.Duration(math.MaxInt64 / 4)

// ParseLength reads a time above 0.
func ParseLength(s string) (time.Duration, error) {
	d, err := ParseTime(s)
	if err == nil && d == 0 {
		err = errors.New("must be longer than 0")
	}
	return d, err
}

// fraction reads the digits after a point as a part of unit, cut to microseconds.
func fraction(digits string, unit time.Duration) time.Duration {
	var d time.Duration
	for _, c := range digits {
		unit /= 10
		d += time.Duration(c-'0') * unit
	}
	return d.Truncate(time.Microsecond)
}

// atoi reads at most 18 digits, as matched by a pattern.
func atoi(digits string) int64 {
	n, _ := strconv.ParseInt(digits, 10, 64)
	return n
}

// ParseAmount reads a number with a decimal unit (k, M, G) and rounds it.
func ParseAmount(s string) (int64, error) {
	scale := 1.0
	if s != "" {
		if i := strings.IndexByte("kKmMgG", s[len(s)-1]); i >= 0 {
			scale, s = math.Pow(1000, float64(i/2+1)), s[:len(s)-1]
		}
	}
	x, err := Number(s)
	switch x = math.Round(x * scale); {
	case err != nil:
		return 0, err
	case x < 1:
		return 0, errors.New("must be at least 1")
	case x > 1e15:
		return 0, errors.New("too large")
	}
	return int64(x), nil
}

// ParsePixels reads an amount or a product such as 16384*16384 or 3840x2160.
func ParsePixels(s string) (int64, error) {
	const hint = "a number of pixels is 100M, 16384*16384 or 3840x2160"
	product := 1.0
	for part := range strings.SplitSeq(strings.ReplaceAll(s, "x", "*"), "*") {
		n, err := ParseAmount(part)
		if err != nil {
			return 0, Usagef(hint, "%v", err)
		}
		product *= float64(n)
	}
	if product > 1e15 {
		return 0, Usagef(hint, "too large")
	}
	return int64(product), nil
}
