package mux

//#include <libavcodec/avcodec.h>
import "C"

// sound lays the samples of a stream out for MXF, which has no times: they begin with the first
// picture, follow one another and end with the last. FFmpeg's muxer drops pictures for which there
// is no sound.
type sound struct {
	rate, size int64 // samples a second; bytes of a sample of all channels
	held       []stretch
	done       int64 // samples written
	cut        int64 // samples that no picture is shown with, or others are heard at their time
}

// stretch is sound from a sample on.
type stretch struct {
	at   int64
	data []byte
}

func newSound(par *C.AVCodecParameters) *sound {
	bytes := int64(C.av_get_bits_per_sample(par.codec_id)) / 8
	return &sound{rate: int64(par.sample_rate), size: bytes * int64(par.ch_layout.nb_channels)}
}

// end is the sample behind the last one that is known.
func (s *sound) end() int64 {
	if n := len(s.held); n > 0 {
		return s.held[n-1].at + int64(len(s.held[n-1].data))/s.size
	}
	return s.done
}

// lay adds a copy of sound that is heard from the given sample on. Times that are off by little are
// rounded ones.
func (s *sound) lay(at int64, data []byte) {
	end := s.end()
	if jitter := s.rate / 20; end > 0 && at-end <= jitter && end-at <= jitter {
		at = end
	}
	early := min(max(0, end-at), int64(len(data))/s.size)
	s.cut += early
	if data = data[early*s.size:]; len(data) > 0 {
		s.held = append(s.held, stretch{at + early, append([]byte(nil), data...)})
	}
}

// take returns the sound up to a sample, with silence where there is none.
func (s *sound) take(until int64) []byte {
	out := make([]byte, (until-s.done)*s.size)
	for len(s.held) > 0 && s.held[0].at < until {
		next := &s.held[0]
		n := copy(out[(next.at-s.done)*s.size:], next.data)
		next.at += int64(n) / s.size
		if next.data = next.data[n:]; len(next.data) > 0 {
			break
		}
		s.held = s.held[1:]
	}
	s.done = until
	return out
}

// rest counts the samples that will not be written.
func (s *sound) rest() (n int64) {
	for _, h := range s.held {
		n += int64(len(h.data)) / s.size
	}
	return s.cut + n
}
