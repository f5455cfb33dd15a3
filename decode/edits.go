package decode

//#include <stdlib.h>
//#include "glue.h"
import "C"

import (
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
)

// edits corrects the times of streams whose beginning an edit list hides. FFmpeg puts the first
// packet that is not hidden at the beginning of the edit: of text, whose packets are long, it may
// belong seconds later, and of video without a key frame before the edit, it comes earlier.
type edits struct {
	late  map[int]int64 // by stream, in its unit: how much later packets are shown
	begun map[int]bool  // streams of text and data of which a packet has come
}

// readEdits opens the file once more, for FFmpeg's times without its corrections.
func (in *Input) readEdits(from source) {
	in.edits = edits{late: map[int]int64{}, begun: map[int]bool{}}
	if in.cutFrom != nil || in.container().name != "mov" {
		return
	}
	var cut []int
	for i := range in.fc.Streams() {
		first, ok := av.IndexEntry(unsafe.Pointer(in.stream(i)), 0)
		if ok && first.Hidden && (i == in.video.Index() || in.selected[i] && in.sparse(i)) {
			cut = append(cut, i)
		}
		if ok && first.Hidden && in.sparse(i) {
			in.edits.late[i] = 0
		}
	}
	if cut == nil || in.forwards {
		return
	}
	curl, cprotocols := C.CString(from.url), C.CString(from.protocols)
	defer C.free(unsafe.Pointer(curl))
	defer C.free(unsafe.Pointer(cprotocols))
	plain := C.vf_open_unedited(curl, cprotocols, in.stop)
	if plain == nil {
		return
	}
	defer C.avformat_close_input(&plain)
	streams := av.Slice(plain.streams, int(plain.nb_streams))
	for _, i := range cut {
		if i >= len(streams) {
			continue
		}
		late := lateness(unsafe.Pointer(in.stream(i)), unsafe.Pointer(streams[i]))
		if in.sparse(i) || late > 2*in.times.step { // by less than a frame, FFmpeg moves it on purpose
			in.edits.late[i] = late
		}
	}
}

// sparse reports whether packets of a stream last long, and are not decoded from others.
func (in *Input) sparse(i int) bool {
	kind := in.stream(i).codecpar.codec_type
	return kind != C.AVMEDIA_TYPE_VIDEO && kind != C.AVMEDIA_TYPE_AUDIO
}

// lateness returns by how much the first packet of a stream that is not hidden comes too early.
func lateness(edited, plain unsafe.Pointer) int64 {
	for i := 0; ; i++ {
		shown, ok := av.IndexEntry(edited, i)
		if !ok {
			return 0
		}
		if shown.Hidden {
			continue
		}
		for n := 0; ; n++ {
			switch e, ok := av.IndexEntry(plain, n); {
			case !ok:
				return 0
			case e.Pos == shown.Pos:
				return max(0, e.Time-shown.Time)
			}
		}
	}
}

// edit puts the packet just read at its time. The first packet of text or data that is hidden is
// the one that lasts into the edit.
func (in *Input) edit() {
	i := in.pkt.StreamIndex()
	late, moved := in.edits.late[i]
	if !moved {
		return
	}
	first := !in.edits.begun[i]
	in.edits.begun[i] = true
	if in.sparse(i) && first && in.pkt.Flags().Has(astiav.PacketFlagDiscard) {
		in.pkt.SetFlags(in.pkt.Flags().Del(astiav.PacketFlagDiscard))
		if late > 0 { // else no other follows
			in.pkt.SetPts(in.pkt.Pts() + in.pkt.Duration())
			in.pkt.SetDts(in.pkt.Pts())
			in.pkt.SetDuration(late)
		}
		return
	}
	if t := in.pkt.Pts(); t != av.NoPTS {
		in.pkt.SetPts(t + late)
	}
	if t := in.pkt.Dts(); t != av.NoPTS {
		in.pkt.SetDts(t + late)
	}
}
