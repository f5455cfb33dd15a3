package record

import (
	"errors"
	"time"

	"github.com/asticode/go-astiav"

	"vidfilter/live/sound"
)

// Sound has the recording take sound of a track, which may be nil. It is called before the first
// Put.
func (r *Recorder) Sound(t *sound.Track) {
	if r.out == nil {
		r.track = t
	}
}

// addSound adds the stream of the sound to the stand-in for an input.
func (r *Recorder) addSound() (all []*astiav.Stream, err error) {
	if r.track == nil {
		return nil, nil
	}
	r.sound = r.in.NewStream(nil)
	if r.packet = astiav.AllocPacket(); r.sound == nil || r.packet == nil {
		return nil, errors.New("record: out of memory")
	}
	return []*astiav.Stream{r.sound}, r.track.Describe(r.sound)
}

// PutSound records sound, at a time on the clock of Put. Sound from before the first frame is left
// out. Errors are as of Put.
func (r *Recorder) PutSound(p sound.Packet, at time.Duration) error {
	if err := r.over(); err != nil {
		return err
	}
	if r.sound == nil || at < r.begin {
		return nil
	}
	err := p.To(r.packet, r.sound.TimeBase(), at-r.begin)
	if err == nil {
		r.packet.SetStreamIndex(r.sound.Index())
		err = r.out.WritePacket(r.packet)
	}
	r.packet.Unref()
	if err != nil {
		r.stop(err)
	}
	return r.err
}
