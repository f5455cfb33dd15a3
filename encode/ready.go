package encode

//#include "glue.h"
import "C"

import (
	"bytes"
	"container/heap"
	"fmt"
	"slices"
	"strconv"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

// PartTag is the tag of a part of a video: the time of its first frame in the source, and the source's unit.
const PartTag = "vidfilter_part"

// PartsError says that parts do not make one video.
type PartsError struct{ What string }

func (e *PartsError) Error() string { return "join: " + e.What }

// Hint says what the user can do.
func (e *PartsError) Hint() string {
	return "make all parts with the same options, of one source, or filter it whole"
}

// CutError says that a container cannot hold what is to be cut out.
type CutError struct{ What string }

func (e *CutError) Error() string { return "cut: " + e.What }

// Hint says what the user can do.
func (e *CutError) Hint() string { return "take the whole file" }

// ready is the state of an output whose video is coded already.
type ready struct {
	avcc  []byte // for H.264 of parts: what describes all of it
	order order
}

// order gives packets their decode times. They are those that x264 gives in one run, whatever the parts: the first
// few begin before the first frame is shown, as many as the reordering needs, and each of the others is decoded when
// the frame is shown that comes so many places before it. That is never later than its own time.
type order struct {
	started, led bool
	first        int64
	times        times // of packets that have come, less those at which one was decoded
}

func (o *order) next(pts, dts int64) int64 {
	if !o.started {
		o.started, o.first = true, pts
	}
	heap.Push(&o.times, pts)
	if o.led = o.led || dts >= o.first; !o.led {
		return dts
	}
	return heap.Pop(&o.times).(int64)
}

// times is a heap.
type times []int64

func (t times) Len() int           { return len(t) }
func (t times) Less(i, j int) bool { return t[i] < t[j] }
func (t times) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t *times) Push(x any)        { *t = append(*t, x.(int64)) }
func (t *times) Pop() any {
	last := (*t)[len(*t)-1]
	*t = (*t)[:len(*t)-1]
	return last
}

// Begin starts an output of H.264 that is coded already, in parts, instead of Put: f, which it borrows, is the
// video's first frame, and says what Put would take from it. avcc describes the parts (ISO 14496-15, 5.3.3.1); a
// PartsError means that these options do not give such video.
func (o *Output) Begin(f *pipeline.Frame, avcc []byte) error {
	o.ready = &ready{avcc: avcc}
	return o.startWith(f, func() error {
		o.from.Store(o.micros(f.PTS))
		return o.takeHeaders(avcc)
	})
}

// takeHeaders puts the parts' headers in the place of the encoder's, which was asked only how it would do it.
func (o *Output) takeHeaders(avcc []byte) error {
	o.enc.Free()
	o.enc = nil
	par := o.video.codecpar
	if !slices.EqualFunc(headers(av.Slice((*byte)(par.extradata), int(par.extradata_size))), headers(avcc), bytes.Equal) {
		return &PartsError{"the parts were not coded with these options"}
	}
	return av.Error(int(C.vf_set_extradata(par, (*C.uint8_t)(&avcc[0]), C.int(len(avcc)))))
}

// BeginCopy starts an output of the input's own video packets: the part of a file from the one that is decoded at
// the given time, in the input's unit.
func (o *Output) BeginCopy(first int64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ready = &ready{}
	in := inputStream(o.in.Video)
	if C.vf_can_mux(o.oc.oformat, in, o.codecTag(in.codecpar)) == 0 {
		return &CutError{fmt.Sprintf("%s cannot hold %s", o.opts.Format, C.GoString(C.avcodec_get_name(in.codecpar.codec_id)))}
	}
	st := o.video
	if err := av.Error(int(C.vf_copy_parameters(st.codecpar, in.codecpar, o.codecTag(in.codecpar)))); err != nil {
		return err
	}
	st.time_base = in.time_base
	st.sample_aspect_ratio = C.av_guess_sample_aspect_ratio(o.source(), in, nil)
	st.codecpar.sample_aspect_ratio = st.sample_aspect_ratio
	st.avg_frame_rate, st.r_frame_rate = in.avg_frame_rate, in.r_frame_rate
	if !o.in.Part {
		if err := o.videoMetadata(st, in); err != nil {
			return err
		}
	}
	o.shift = first
	return o.openWith(first)
}

// WriteVideo writes a packet of the video after Begin or BeginCopy, in decode order; it borrows p. PTS and
// duration are in the input's unit; so is the DTS, which Begin's packets need only as far as the first few go.
// Safe beside WritePacket.
func (o *Output) WriteVideo(p *astiav.Packet) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.pkt.Ref(p); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	defer o.pkt.Unref()
	o.pkt.SetPos(-1)
	if o.ready.avcc != nil {
		o.pkt.SetDts(o.ready.order.next(p.Pts(), p.Dts()))
		if o.pkt.Dts() > p.Pts() {
			return &PartsError{fmt.Sprintf("the frame at %d is decoded too late", p.Pts())}
		}
	}
	o.frames++
	o.time.Store(max(o.time.Load(), o.micros(p.Pts()+p.Duration())))
	return o.writeVideo()
}

// headers returns the SPS and PPS of H.264, from avcC or as they stand between start codes.
func headers(b []byte) [][]byte {
	if len(b) > 6 && b[0] == 1 {
		return headersOfAVCC(b)
	}
	var list [][]byte
	for _, unit := range bytes.Split(b, []byte{0, 0, 1})[1:] {
		if unit = bytes.TrimRight(unit, "\x00"); len(unit) > 0 && (unit[0]&31 == 7 || unit[0]&31 == 8) {
			list = append(list, unit)
		}
	}
	return list
}

func headersOfAVCC(b []byte) (list [][]byte) {
	at := 5
	for _, mask := range []byte{31, 255} {
		if at >= len(b) {
			return nil
		}
		n := int(b[at] & mask)
		for at++; n > 0; n-- {
			if at+2 > len(b) {
				return nil
			}
			size := int(b[at])<<8 | int(b[at+1])
			if at += 2; at+size > len(b) {
				return nil
			}
			list = append(list, b[at:at+size])
			at += size
		}
	}
	return list
}

// exactTimes sets MP4 to count in the unit of the input, so that differences of times survive.
func (o *Output) exactTimes(d **C.AVDictionary) error {
	const finest = 1e7 // a frame's length has 32 bits
	den := o.in.Video.TimeBase().Den()
	if den <= 0 || den > finest {
		return refusal("filter the file whole", "a part cannot be exact in units of %s s", o.in.Video.TimeBase())
	}
	set(d, "video_track_timescale", strconv.Itoa(den))
	set(d, "movie_timescale", strconv.Itoa(den))
	if o.ready != nil {
		set(d, "use_editlist", "0") // times begin at 0 anyway, and are read back as they are
	}
	return nil
}
