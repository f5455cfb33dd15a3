package units

// clock copies a clock from counting_type up to the hours: of HEVC's time_code (ISO 23008-2,
// D.2.27), of AV1's (AV1, 5.8.7), or of H.264's pic_timing (ISO 14496-10, D.1.3). Its frames have
// from and to bits.
func clock(r *reader, w *writer, from, to int) {
	field := func(n int) uint32 {
		v := r.bits(n)
		w.bits(v, n)
		return v
	}
	field(5) // counting_type
	full := field(1) == 1
	field(1 + 1) // discontinuity_flag, cnt_dropped_flag
	w.bits(min(r.bits(from), 1<<to-1), to)
	for _, n := range []int{6, 6, 5} { // seconds, minutes, hours
		if !full && field(1) == 0 {
			break
		}
		field(n)
	}
}

// longClock copies a clock of HEVC or AV1 with its time_offset.
func longClock(r *reader, w *writer) {
	const frames = 9
	clock(r, w, frames, frames)
	n := r.bits(5)
	w.bits(n, 5)
	w.bits(r.bits(int(n)), int(n))
}

// clockOfAV1 returns the time_code with a single clock, nil if it is damaged.
func clockOfAV1(b []byte) []byte {
	r, w := reader{b: b}, writer{}
	w.bits(1, 2) // num_clock_ts
	w.bits(1, 1) // clock_timestamp_flag
	w.bits(0, 1) // units_field_based_flag
	if longClock(&r, &w); r.short {
		return nil
	}
	return w.end()
}

// clockToAV1 returns AV1's form of the first clock, or nil.
func clockToAV1(b []byte) []byte {
	r, w := reader{b: b}, writer{}
	if n, given := r.bits(2), r.bits(1); n == 0 || given == 0 {
		return nil
	}
	r.bits(1) // units_field_based_flag
	if longClock(&r, &w); r.short {
		return nil
	}
	w.bits(1, 1)
	return w.b
}

// TimeCode returns the payload of Timecode for codes of SMPTE ST 12-1, as FFmpeg has them: digits
// from frames down to hours; nil without codes. Above 30 frames a second they count pairs, and a
// bit has the place in the pair.
func TimeCode(codes []uint32, rateNum, rateDen int) []byte {
	const most, dropping = 3, 4
	if len(codes) == 0 || len(codes) > most {
		return nil
	}
	w := writer{}
	w.bits(uint32(len(codes)), 2)
	for _, c := range codes {
		digits := func(at int, tens uint32) uint32 { return c>>(at+4)&tens*10 + c>>at&15 }
		frames, drop := digits(24, 3), c>>30&1
		switch {
		case rateNum == 50*rateDen:
			frames = 2*frames + c>>7&1
		case rateNum > 30*rateDen:
			frames = 2*frames + c>>23&1
		}
		w.bits(1, 1)             // clock_timestamp_flag
		w.bits(0, 1)             // units_field_based_flag
		w.bits(dropping*drop, 5) // counting_type
		w.bits(1, 1)             // full_timestamp_flag
		w.bits(0, 1)             // discontinuity_flag
		w.bits(drop, 1)
		w.bits(frames, 9)
		w.bits(digits(16, 7), 6)
		w.bits(digits(8, 7), 6)
		w.bits(digits(0, 3), 5)
		w.bits(0, 5) // time_offset_length
	}
	return w.end()
}
