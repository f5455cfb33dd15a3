package main

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var errTime = usagef("a time is 90, 1:30, 1:02:30.5, 200ms or 5us", "not a time")

// The two forms of a time: [HH:]MM:SS[.m] and seconds with a unit.
var (
	clockTime = regexp.MustCompile(`^(?:(\d{1,4}):)?([0-5]?\d):([0-5]?\d)(?:\.(\d*))?$`)
	plainTime = regexp.MustCompile(`^(\d{1,18})?(?:\.(\d*))?(s|ms|us)?$`)
)

// parseTime reads a time as ffmpeg does: to the microsecond, what is finer is cut off.
func parseTime(s string) (time.Duration, error) {
	if m := clockTime.FindStringSubmatch(s); m != nil {
		seconds := atoi(m[1])*3600 + atoi(m[2])*60 + atoi(m[3])
		return time.Duration(seconds)*time.Second + fraction(m[4], time.Second), nil
	}
	m := plainTime.FindStringSubmatch(s)
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

// maxTime leaves room for sums of two times.
const maxTime = time.Duration(math.MaxInt64 / 4)

// parseLength is parseTime for what must not be nothing.
func parseLength(s string) (time.Duration, error) {
	d, err := parseTime(s)
	if err == nil && d == 0 {
		err = errors.New("must be longer than 0")
	}
	return d, err
}

// fraction returns the digits after a point as a part of unit, cut to microseconds.
func fraction(digits string, unit time.Duration) time.Duration {
	var d time.Duration
	for _, c := range digits {
		unit /= 10
		d += time.Duration(c-'0') * unit
	}
	return d.Truncate(time.Microsecond)
}

// atoi reads what a pattern has shown to be at most 18 digits.
func atoi(digits string) int64 {
	n, _ := strconv.ParseInt(digits, 10, 64)
	return n
}

// parseAmount reads a number with a decimal unit (k, M, G) and rounds it.
func parseAmount(s string) (int64, error) {
	scale := 1.0
	if s != "" {
		if i := strings.IndexByte("kKmMgG", s[len(s)-1]); i >= 0 {
			scale, s = math.Pow(1000, float64(i/2+1)), s[:len(s)-1]
		}
	}
	x, err := number(s)
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

func parseBitrate(s string) (int64, error) {
	n, err := parseAmount(s)
	switch {
	case err != nil:
		return 0, usagef("a bit rate is bits a second: 5M, 800k, 2500000", "%v", err)
	case n < 1000:
		return 0, usagef("a bit rate is bits a second: did you mean "+s+"k or "+s+"M?", "less than any video takes")
	case n > math.MaxInt32:
		return 0, usagef("the encoder takes at most 2147M", "more than the encoder takes")
	}
	return n, nil
}

// parsePixels reads an amount or a product such as 16384*16384 or 3840x2160.
func parsePixels(s string) (int64, error) {
	const hint = "a number of pixels is 100M, 16384*16384 or 3840x2160"
	product := 1.0
	for part := range strings.SplitSeq(strings.ReplaceAll(s, "x", "*"), "*") {
		n, err := parseAmount(part)
		if err != nil {
			return 0, usagef(hint, "%v", err)
		}
		product *= float64(n)
	}
	if product > 1e15 {
		return 0, usagef(hint, "too large")
	}
	return int64(product), nil
}
