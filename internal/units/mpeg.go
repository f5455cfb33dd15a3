package units

import "bytes"

// GroupTime is the time code of a group of pictures of MPEG-1 or MPEG-2 (ISO 13818-2, 6.3.8).
type GroupTime struct {
	Hours, Minutes, Seconds, Pictures int
	Drop                              bool
	// Before is how many pictures of the group are shown before the first coded one. The time is
	// the first shown picture's.
	Before int
}

// GroupTimeOf reads the header of the group that begins with a coded picture. ok is false without
// one, or if it is damaged.
func GroupTimeOf(picture []byte) (g GroupTime, ok bool) {
	_, group, begins := bytes.Cut(picture, []byte{0, 0, 1, 0xb8})
	_, first, coded := bytes.Cut(group, []byte{0, 0, 1, 0})
	if !begins || !coded {
		return g, false
	}
	r := reader{b: group}
	number := func(bits int) int { return int(r.bits(bits)) }
	g.Drop = number(1) == 1
	g.Hours, g.Minutes = number(5), number(6)
	marked := number(1) == 1
	g.Seconds, g.Pictures = number(6), number(6)
	header := reader{b: first}
	g.Before = int(header.bits(10)) // temporal_reference
	return g, marked && !r.short && !header.short && g.Hours < 24 && g.Minutes < 60 && g.Seconds < 60
}
