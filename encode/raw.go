package encode

//#include "glue.h"
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"vidfilter/internal/fidelity"
	"vidfilter/internal/text"
)

// setRaw has a pipe get each picture at once.
func (o *Output) setRaw(**C.AVDictionary, int64) error {
	if !o.seekable() {
		o.oc.flags |= C.AVFMT_FLAG_FLUSH_PACKETS
	}
	return nil
}

// setPace sets the rate of pictures without times, which the muxer takes from the unit of times.
func (o *Output) setPace(st *C.AVStream) {
	rate := st.avg_frame_rate
	if rate.num <= 0 || rate.den <= 0 {
		rate = C.AVRational{25, 1}
		o.warn("the rate of the input is not known: %s says 25 pictures a second", o.opts.Format)
	}
	st.avg_frame_rate, st.time_base = rate, C.av_inv_q(rate)
}

// keepPace writes the picture in o.pkt, after the one before again if this one is late. It leaves
// out a picture that is early by more than its place.
func (o *Output) keepPace() error {
	at := o.place(o.pkt.Pts())
	if o.latest != nil {
		if o.written-at > 1 {
			o.skipped++
			return nil
		}
		if err := o.repeatPicture(at); err != nil {
			return err
		}
		o.latest.Free()
	}
	if o.latest = o.pkt.Clone(); o.latest == nil {
		return errors.New("encode: out of memory")
	}
	return o.writeStep(o.latest)
}

// repeatPicture writes the latest picture again until the given one is next.
func (o *Output) repeatPicture(until int64) error {
	if o.pauseTooLong(until) {
		return o.offRate(until)
	}
	for o.written < until {
		if err := o.writeStep(o.latest); err != nil {
			return err
		}
		o.repeated++
	}
	return nil
}

// finishPace shows the latest picture to its end, and names the changes.
func (o *Output) finishPace() error {
	if o.latest != nil {
		if err := o.repeatPicture(o.place(o.latest.Pts() + o.latest.Duration())); err != nil {
			return err
		}
	}
	if o.repeated+o.skipped > 0 {
		o.warn("%s has a rate and no times: %d pictures are repeated, %d left out; --format nut keeps the time of each",
			o.opts.Format, o.repeated, o.skipped)
	}
	return nil
}

// nameRest names, in one line, what the input has beside the samples and the format has not.
func (o *Output) nameRest() {
	const columns = 40 // of a value
	var names, ofVideo []string
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, i := range o.in.Facts() {
		switch i.Kind {
		case fidelity.Stream:
			add(strings.Replace(i.Values["kind"], "video", "other video", 1))
		case fidelity.Chapter:
			add("chapters")
		case fidelity.Tag:
			add("tags")
		default:
			for _, key := range fidelity.Missed(i) {
				if o.lacks(i, key) {
					o.told.Add(i.Kind, i.Name, key)
					ofVideo = append(ofVideo, fmt.Sprintf("%s (%s)", fidelity.Name(i.Kind, key), text.Clip(i.Values[key], columns)))
				}
			}
		}
		if i.Kind != fidelity.Video {
			o.told.Add(i.Kind, i.Name, "")
		}
	}
	if names = append(names, ofVideo...); len(names) > 0 {
		o.warn("%s holds pictures alone, without %s", o.opts.Format, strings.Join(names, ", "))
	}
}
