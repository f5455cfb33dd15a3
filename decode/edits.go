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
	begun map[int]bool  // streams of text and data with a packet so far
}

// readEdits opens a file once more, for FFmpeg's times without its corrections. step is the usual
// length of a frame.
func readEdits(r *packetReader, from location, stop *C.struct_vf_stop, step int64) edits {
	e := edits{late: map[int]int64{}, begun: map[int]bool{}}
	var cut []int
	for i := range r.fc.Streams() {
		first, ok := av.IndexEntry(unsafe.Pointer(r.stream(i)), 0)
		if ok && first.Hidden && (i == r.video.Index() || r.selected[i] && r.sparse(i)) {
			cut = append(cut, i)
		}
		if ok && first.Hidden && r.sparse(i) {
			e.late[i] = 0
		}
	}
	if cut == nil || r.forwards {
		return e
	}
	curl, cprotocols := C.CString(from.url), C.CString(from.protocols)
	defer C.free(unsafe.Pointer(curl))
	defer C.free(unsafe.Pointer(cprotocols))
	plain := C.vf_open_unedited(curl, cprotocols, stop)
	if plain == nil {
		return e
	}
	defer C.avformat_close_input(&plain)
	streams := av.Slice(plain.streams, int(plain.nb_streams))
	for _, i := range cut {
		if i >= len(streams) {
			continue
		}
		late := lateness(unsafe.Pointer(r.stream(i)), unsafe.Pointer(streams[i]))
		if r.sparse(i) || late > 2*step { // by less than a frame, FFmpeg moves it on purpose
			e.late[i] = late
		}
	}
	return e
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

// correct puts a packet just read at its time. The first packet of text or data that is hidden is
// the one that lasts into the edit.
func (e *edits) correct(p *astiav.Packet, sparse bool) {
	i := p.StreamIndex()
	late, moved := e.late[i]
	if !moved {
		return
	}
	first := !e.begun[i]
	e.begun[i] = true
	if sparse && first && p.Flags().Has(astiav.PacketFlagDiscard) {
		p.SetFlags(p.Flags().Del(astiav.PacketFlagDiscard))
		if late > 0 { // else no other follows
			p.SetPts(p.Pts() + p.Duration())
			p.SetDts(p.Pts())
			p.SetDuration(late)
		}
		return
	}
	shiftTimes(p, late)
}
