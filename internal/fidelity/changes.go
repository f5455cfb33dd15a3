package fidelity

//#include "glue.h"
import "C"

import (
	"unsafe"

	"vidfilter/pipeline"
)

// Change is a property that a picture states in another way than the picture before.
type Change struct{ Key, Name, From, To string }

// Stated follows the properties of a video that its pictures state. The zero value is ready; Close
// frees its memory.
type Stated struct {
	last  *C.AVFrame
	video *pipeline.Video
}

// Follow takes note of a picture of an AVStream in an AVFormatContext, by its description and the
// AVFrame of its properties, and returns the properties that differ from the one before.
func (s *Stated) Follow(context, stream, frame unsafe.Pointer, video *pipeline.Video) (list []Change) {
	now := (*C.AVFrame)(frame)
	if s.last != nil && s.video == video && C.vf_says_the_same(s.last, now) != 0 {
		return nil
	}
	before, was := s.last, s.video
	defer C.av_frame_free(&before)
	s.last, s.video = C.vf_describing(now), video
	if before == nil {
		return nil
	}
	for _, p := range properties {
		if !p.stated {
			continue
		}
		read := func(f *C.AVFrame, v *pipeline.Video) string {
			return p.read(&subject{fc: (*C.AVFormatContext)(context), st: (*C.AVStream)(stream), seen: &Seen{frame: f}, video: v})
		}
		if from, to := read(before, was), read(now, video); from != to && p.judge(from, to) != alike {
			list = append(list, Change{p.Key, p.Name, from, to})
		}
	}
	return list
}

// Close frees the last picture. It may be called twice.
func (s *Stated) Close() { C.av_frame_free(&s.last) }
