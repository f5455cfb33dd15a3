package fidelity

//#include "glue.h"
import "C"

import "unsafe"

// Change is a property that a picture states in another way than the picture before.
type Change struct{ Key, Name, From, To string }

// Stated follows what the pictures of a video say of it. The zero value is ready; Close frees its
// memory.
type Stated struct{ last *C.AVFrame }

// Follow takes note of an AVFrame of an AVStream in an AVFormatContext, and returns what it says
// otherwise than the one before.
func (s *Stated) Follow(context, stream, frame unsafe.Pointer) (list []Change) {
	now := (*C.AVFrame)(frame)
	if s.last != nil && C.vf_says_the_same(s.last, now) != 0 {
		return nil
	}
	before := s.last
	defer C.av_frame_free(&before)
	s.last = C.vf_describing(now)
	if before == nil {
		return nil
	}
	for _, p := range properties {
		if !p.stated {
			continue
		}
		read := func(f *C.AVFrame) string {
			return p.read(&subject{fc: (*C.AVFormatContext)(context), st: (*C.AVStream)(stream), seen: &Seen{frame: f}})
		}
		if from, to := read(before), read(now); from != to && p.judge(from, to) != alike {
			list = append(list, Change{p.Key, p.Name, from, to})
		}
	}
	return list
}

// Close frees the last picture. It may be called twice.
func (s *Stated) Close() { C.av_frame_free(&s.last) }
