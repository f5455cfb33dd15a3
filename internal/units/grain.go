package units

// grainEnd returns where film_grain_characteristics (ISO 14496-10, D.1.21; ISO 23008-2, D.2.19)
// states how long it holds, the only place where H.264 and HEVC differ. ok is false if it is cut
// off, or ends before.
func grainEnd(b []byte) (at int, ok bool) {
	r := reader{b: b}
	if cancel := r.bits(1); cancel == 1 {
		return r.at, false
	}
	r.bits(2)           // film_grain_model_id
	if r.bits(1) == 1 { // separate_colour_description_present_flag
		r.bits(3 + 3 + 1) // depths, range
		r.bits(8 + 8 + 8) // primaries, transfer, matrix
	}
	r.bits(2 + 4) // blending_mode_id, log2_scale_factor
	var present [3]bool
	for c := range present {
		present[c] = r.bits(1) == 1
	}
	for _, given := range present {
		if !given {
			continue
		}
		intervals, values := int(r.bits(8))+1, int(r.bits(3))+1
		for range intervals {
			r.bits(8 + 8)
			for range values {
				r.ue() // as long as the signed form
			}
		}
	}
	return r.at, !r.short
}

// persistent turns H.264's film grain into HEVC's form, nil if it is damaged: the repetition period
// is 0 for one picture, else it holds on.
func persistent(b []byte) []byte {
	return regrained(b, func(r *reader, w *writer) { w.bits(min(r.ue(), 1), 1) })
}

// repeated is the inverse of persistent.
func repeated(b []byte) []byte { return regrained(b, func(r *reader, w *writer) { w.ue(r.bits(1)) }) }

func regrained(b []byte, last func(*reader, *writer)) []byte {
	at, ok := grainEnd(b)
	if !ok {
		if at == 1 && len(b) > 0 { // cancels film grain, without more
			return b
		}
		return nil
	}
	w := writer{}
	w.copy(b, 0, at)
	r := reader{b: b, at: at}
	if last(&r, &w); r.short {
		return nil
	}
	return w.end()
}
