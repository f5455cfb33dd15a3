package decode

//#cgo pkg-config: libavformat libavutil
//#include <libavformat/avformat.h>
import "C"

import "fmt"

// The most that a file may hold, which is far more than films do. FFmpeg reads no more streams, and
// its lists of tags and chapters take time by the square of their length.
const (
	maxStreams  = 1000
	maxChapters = 10_000
	maxTags     = 10_000
)

const largeHint = "copy what you need of it into another file, for example with ffmpeg -map"

// checkLimits returns an error for a container that holds more than the limits.
func (s containerStreams) checkLimits(path string) error {
	fc := s.context()
	tags := int(C.av_dict_count(fc.metadata))
	for _, st := range s.list() {
		tags += int(C.av_dict_count(st.metadata))
	}
	for _, p := range s.programs() {
		tags += int(C.av_dict_count(p.metadata))
	}
	for _, l := range []struct {
		what    string
		n, most int
	}{
		{"streams", int(fc.nb_streams), maxStreams - 1}, // at FFmpeg's limit, some may be missing
		{"chapters", int(fc.nb_chapters), maxChapters},
		{"tags", tags, maxTags},
	} {
		if l.n > l.most {
			return &Error{Op: "open", Path: path, Err: fmt.Errorf("it has more than %d %s", l.most, l.what),
				hint: largeHint}
		}
	}
	return nil
}
