package fidelity

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// sameText compares tags. Containers trim words, and write times and places with other digits.
func sameText(from, to string) verdict {
	from, to = strings.TrimSpace(from), strings.TrimSpace(to)
	if from == to || second(from) == second(to) || samePlace(from, to) {
		return alike
	}
	return lost
}

// UTC returns a time as RFC 3339 has it, in UTC. One without a zone is in UTC, as files of old
// writers have it. Other texts stay as they are.
func UTC(text string) string {
	const date = len("2006-01-02")
	t := text
	if len(t) > date && t[date] == ' ' {
		t = t[:date] + "T" + strings.TrimSuffix(t[date+1:], " UTC")
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05Z07", "2006-01-02T15:04:05"} {
		if at, err := time.Parse(layout, t); err == nil {
			return at.UTC().Format(time.RFC3339Nano)
		}
	}
	return text
}

// second is a time to the second, which is all that MP4 keeps, or another text as it is.
func second(text string) string {
	if at, err := time.Parse(time.RFC3339, UTC(text)); err == nil {
		return at.Truncate(time.Second).Format(time.RFC3339)
	}
	return text
}

// coordinates is a place by ISO 6709, with the name that MP4 puts behind it.
var coordinates = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([+-][\d.]+)([+-][\d.]+)([+-][\d.]+)?(?:CRS[^/]*)?(?:/(.*))?$`)
})

// samePlace reports whether two texts are one place in MP4: its numbers have 16 bits behind the
// point, and FFmpeg prints four digits.
func samePlace(from, to string) bool {
	a, b := coordinates().FindStringSubmatch(from), coordinates().FindStringSubmatch(to)
	if a == nil || b == nil {
		return false
	}
	near := func(x, y, most float64) bool { return math.Abs(x-y) <= most }
	return near(degrees(a[1], 2), degrees(b[1], 2), 0.0001) && near(degrees(a[2], 3), degrees(b[2], 3), 0.0001) &&
		near(value(a[3]), value(b[3]), 0.01) && a[4] == b[4]
}

func value(text string) float64 {
	number, _ := strconv.ParseFloat(text, 64)
	return number
}

// degrees reads a number. Two or four more digits before the point than degrees have are minutes,
// or minutes and seconds.
func degrees(text string, digits int) float64 {
	number := value(text)
	whole, _, _ := strings.Cut(strings.TrimLeft(text, "+-"), ".")
	v := math.Abs(number)
	switch {
	case len(whole) > digits+2:
		d, m, s := math.Floor(v/10000), math.Floor(math.Mod(v, 10000)/100), math.Mod(v, 100)
		v = d + m/60 + s/3600
	case len(whole) > digits:
		v = math.Floor(v/100) + math.Mod(v, 100)/60
	}
	return math.Copysign(v, number)
}
