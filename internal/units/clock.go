package units

// clock copies a clock of HEVC's time_code, from counting_type on (ISO 23008-2, D.2.27), which AV1
// codes alike (AV1, 5.8.7).
func clock(r *reader, w *writer) {
	field := func(n int) uint32 {
		v := r.bits(n)
		w.bits(v, n)
		return v
	}
	field(5) // counting_type
	full := field(1) == 1
	field(1 + 1 + 9)                   // discontinuity_flag, cnt_dropped_flag, n_frames
	for _, n := range []int{6, 6, 5} { // seconds, minutes, hours
		if !full && field(1) == 0 {
			break
		}
		field(n)
	}
	if n := field(5); n > 0 { // time_offset_length
		field(int(n))
	}
}

// clockOfAV1 returns the time_code with a single clock, nil if it is damaged.
func clockOfAV1(b []byte) []byte {
	r, w := reader{b: b}, writer{}
	w.bits(1, 2) // num_clock_ts
	w.bits(1, 1) // clock_timestamp_flag
	w.bits(0, 1) // units_field_based_flag
	if clock(&r, &w); r.short {
		return nil
	}
	return w.end()
}

// clockToAV1 returns AV1's form of the first clock, nil if there is none.
func clockToAV1(b []byte) []byte {
	r, w := reader{b: b}, writer{}
	if n, given := r.bits(2), r.bits(1); n == 0 || given == 0 {
		return nil
	}
	r.bits(1) // units_field_based_flag
	if clock(&r, &w); r.short {
		return nil
	}
	w.bits(1, 1)
	return w.b
}
