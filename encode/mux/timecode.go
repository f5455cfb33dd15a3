package mux

//#include "glue.h"
import "C"

import (
	"cmp"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/internal/fidelity"
	"vidfilter/internal/units"
)

// timecodes counts the timecodes of the input on to the pictures of the file.
type timecodes struct{ *file }

// move lets the input's timecodes count on to the first picture of the part that is taken,
// and at the output's rate.
func (m timecodes) move(first int64) {
	rate, pictures := m.sourceRate(), 0
	begin := inputStream(m.In.Video).start_time
	cut := m.In.Cut && rate.num > 0 && begin != C.AV_NOPTS_VALUE
	if !cut && !m.Has(fidelity.Rate) {
		return
	}
	if cut {
		us := C.AVRational{1, 1000000}
		later := C.int64_t(m.Micros(first)) - C.int64_t(m.In.Shift) - C.av_rescale_q(begin, inputStream(m.In.Video).time_base, us)
		pictures = int(C.av_rescale_q(later, us, C.av_inv_q(rate)))
	}
	dictionaries := []**C.AVDictionary{&m.oc.metadata}
	for _, st := range m.outputs() {
		dictionaries = append(dictionaries, &st.metadata)
	}
	for _, d := range dictionaries {
		if code := metadata(*d, "timecode"); code != "" {
			if cut {
				code = av.LaterTimecode(code, astiav.NewRational(int(rate.num), int(rate.den)), pictures)
			}
			set(d, "timecode", m.atRate(code))
		}
	}
}

// atRate returns a timecode of the input as it counts at the output's rate; "" if that has none.
func (m timecodes) atRate(code string) string {
	if code == "" || !m.Has(fidelity.Rate) {
		return code
	}
	is := m.Shown.Rate
	if !is.Known() {
		is = m.Shown.MeanRate
	}
	was := m.sourceRate()
	other := av.TimecodeAt(code, astiav.NewRational(int(was.num), int(was.den)), astiav.NewRational(is.Num, is.Den))
	if other != code {
		m.Told.Add(fidelity.Video, "", "timecode")
	}
	if other == "" {
		m.Warn("the timecode %s is left out: there is none at %.6g pictures a second", code, is.Float64())
	}
	return other
}

// keep makes the timecode of the first picture that of the file, unless that has one.
func (m timecodes) keep(code string) {
	if code == "" || !m.Carries() || m.In.Part {
		return
	}
	given := metadata(m.oc.metadata, "timecode")
	for _, st := range m.outputs() {
		given = cmp.Or(given, metadata(st.metadata, "timecode"))
	}
	switch {
	case given == "" && !forecast{m.file}.lacks(fidelity.Item{Kind: fidelity.Video}, "timecode"):
		set(&m.oc.metadata, "timecode", code)
	case given != code:
		m.Lost.Add(units.Timecode.String())
	}
}

// sourceRate returns the rate of the input's video, 0/1 if it is unknown.
func (m timecodes) sourceRate() C.AVRational {
	return C.av_guess_frame_rate((*C.AVFormatContext)(av.FormatPtr(m.In.Context)), inputStream(m.In.Video), nil)
}
