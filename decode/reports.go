package decode

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
)

// reports counts the errors that FFmpeg logs while it reads an input. Much damage shows only
// there: demuxers that resynchronize and decoders that drop damaged data return no error.
type reports struct {
	fromDemuxer, fromDecoder atomic.Int64
	listening                atomic.Bool // to the decoder
	anywhere                 bool        // the recording may begin anywhere
	calm                     int         // packets since one that may depend on missing data
	keyed                    bool        // the first key frame has come
	firstKey                 int64       // its PTS
	stop                     []func()

	begun bool    // decoding can begin with a packet that has come
	early int64   // packets before that one that gave no frame
	until uintptr // the number of the last of them

	mu      sync.Mutex
	skipped map[uint32]bool // frame numbers of H.264 before which FFmpeg found a gap
}

func (r *reports) watchDemuxer(fc *astiav.FormatContext) {
	r.stop = append(r.stop, av.WatchErrors(uintptr(av.FormatPtr(fc)), func() { r.fromDemuxer.Add(1) }))
}

func (r *reports) watchDecoder(handle uintptr) {
	r.stop = append(r.stop, av.WatchMessages(handle, func(level astiav.LogLevel, line string) {
		var frame uint32
		switch n, _ := fmt.Sscanf(line, "Frame num gap %d", &frame); {
		case n == 1:
			r.mu.Lock()
			defer r.mu.Unlock()
			setIn(&r.skipped, frame, true)
		case level <= astiav.LogLevelError && r.listening.Load():
			r.fromDecoder.Add(1)
		}
	}))
}

// gapBefore reports whether FFmpeg found pictures missing before one of H.264 with a frame number.
func (r *reports) gapBefore(frame uint32) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.skipped[frame]
}

// unkeyed records a picture's packet, by its number, that comes before all with which decoding can
// begin.
func (r *reports) unkeyed(number uintptr) { r.early, r.until = r.early+1, number }

// came records the frame of a packet.
func (r *reports) came(number uintptr) {
	if number > 0 && number <= r.until {
		r.early--
	}
}

// unkeyedFrames returns how many frames come before all with which decoding can begin.
func (r *reports) unkeyedFrames() int64 {
	if !r.begun {
		return 0
	}
	return max(0, r.early)
}

func (r *reports) close() {
	for _, stop := range r.stop {
		stop()
	}
	r.stop = nil
}

// sending records a packet for the decoder. A recording cut without encoding begins with pictures
// that lack their references, after a key frame, or before it if it may begin anywhere. A decoder's
// errors about them are no damage, and come late: by one packet per thread.
func (r *reports) sending(p *astiav.Packet, threads int) {
	pts := p.Pts()
	switch {
	case !r.keyed && (!r.anywhere || p.Flags().Has(astiav.PacketFlagKey)):
		r.keyed, r.firstKey = true, pts
	case !r.keyed || pts < r.firstKey && pts != av.NoPTS:
		r.calm = 0
	default:
		if r.calm++; r.calm > threads {
			r.listening.Store(true)
		}
	}
}

// again forgets the errors of a decoder that another replaces. That one begins at a key frame, so
// it is listened to at once only if there was damage.
func (r *reports) again(damage bool) {
	r.listening.Store(damage)
	r.fromDecoder.Store(0)
	r.keyed, r.calm = false, 0
}

// whole reports whether the decoder must make a frame of the packet recorded last: it is larger
// than MPEG-4's mark of a missing frame or Dirac's of the end, and is shown, from the first key
// frame on.
func (r *reports) whole(p *astiav.Packet) bool {
	const mark = 16
	hidden := p.Flags().Has(astiav.PacketFlagDiscard)
	return r.keyed && p.Size() > mark && !hidden && r.keyedBy(p.Pts())
}

// keyedBy reports whether a picture does not come before the first key frame.
func (r *reports) keyedBy(pts int64) bool {
	return pts == av.NoPTS || r.firstKey == av.NoPTS || pts >= r.firstKey
}
