package live

import (
	"context"
	"slices"
	"sync"
	"time"

	"vidfilter/live/sound"
)

const (
	// mostHeld limits the packets of sound that wait for their picture or for a watcher: a minute.
	mostHeld = 3000
	// mostUnheard limits those that wait for a SoundReader.
	mostUnheard = 256
)

// listener is a Source with sound.
type listener interface {
	// Track describes the sound of all shots; nil if there is none.
	Track() *sound.Track
}

// speaker is a listener whose sound comes by itself, on the clock of Shot.At, which counts from
// 1970.
type speaker interface {
	listener
	// Speak has the source hand its sound to a function, from any goroutine.
	Speak(to func(sound.Packet))
}

// Track describes the session's sound; nil before the first picture, and if there is none.
func (s *Session) Track() *sound.Track {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.track
}

// Sound is a packet of sound. It mostly arrives before the filter is done with the pictures of its
// time.
type Sound struct {
	sound.Packet
	Track *sound.Track
	Taken time.Time // when a picture of its time is taken

	// Begins marks, without data, that the source continues at another place: sound from before
	// that has not been played must be dropped.
	Begins bool
}

// SoundReader receives the sound of a session from its creation on. Next is for one goroutine.
type SoundReader struct {
	s    *Session
	box  *mailbox[Sound]
	once sync.Once
}

// Hear returns a reader, which the caller closes. Sound that it does not take in time is lost.
func (s *Session) Hear() *SoundReader {
	e := &SoundReader{s: s, box: newMailbox(mostUnheard, func(Sound) {})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watchers == nil {
		e.box.close()
	} else {
		s.soundReaders[e] = struct{}{}
	}
	return e
}

// Next waits for sound. It fails when ctx or the session ends.
func (e *SoundReader) Next(ctx context.Context) (Sound, error) { return e.box.get(ctx) }

// Close ends the reader. It may be called twice.
func (e *SoundReader) Close() {
	e.once.Do(func() {
		e.s.mu.Lock()
		delete(e.s.soundReaders, e)
		e.s.mu.Unlock()
		e.box.close()
	})
}

// hear takes the sound that came with a picture: SoundReaders get it at once, watchers when that
// picture is shown. The sound of the source's end comes with no picture.
func (s *Session) hear(src Source, shot Shot) {
	l, ok := src.(listener)
	if !ok {
		return
	}
	track := l.Track() // before the lock: a source may hold its own when it tells its status
	s.mu.Lock()
	defer s.mu.Unlock()
	s.track = track
	if shot.Frame != nil {
		s.zero = shot.Taken.Add(-shot.At)
	}
	s.hand(shot.Sound)
}

// followSpeaker takes the sound of a source that speaks.
func (s *Session) followSpeaker(src Source) {
	sp, ok := src.(speaker)
	if !ok {
		return
	}
	sp.Speak(func(x sound.Packet) {
		track := sp.Track()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.track, s.zero = track, time.Unix(0, 0)
		s.hand([]sound.Packet{x})
	})
}

// hand passes sound on; s.mu is held. A frozen picture is silent.
func (s *Session) hand(heard []sound.Packet) {
	s.sounds = keep(append(s.sounds, heard...))
	if s.frozen && s.o.Input.Kind != File {
		return
	}
	for e := range s.soundReaders {
		for _, x := range heard {
			e.box.put(Sound{Packet: x, Track: s.track, Taken: s.zero.Add(x.At)})
		}
	}
}

// restartSound marks that the source continues at another place, whose first picture is at a time.
// Sound that was read ahead of the pictures is forgotten.
func (s *Session) restartSound(at time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sounds = slices.DeleteFunc(s.sounds, func(x sound.Packet) bool { return x.At >= at })
	for e := range s.soundReaders {
		e.box.put(Sound{Begins: true})
	}
}

// soundUntil hands the sound up to that of a picture, or all if p is nil, to the watchers that
// listen. It must be called with mu held.
func (s *Session) soundUntil(p *Pair) {
	n := len(s.sounds)
	if p != nil {
		if n = slices.IndexFunc(s.sounds, func(x sound.Packet) bool { return x.At > p.At }); n < 0 {
			n = len(s.sounds)
		}
	}
	for w := range s.watchers {
		if w.listens {
			w.sounds = keep(append(w.sounds, s.sounds[:n]...))
		}
	}
	s.sounds = slices.Delete(s.sounds, 0, n)
}

// keep drops the oldest of too many.
func keep(all []sound.Packet) []sound.Packet {
	if n := len(all) - mostHeld; n > 0 {
		return slices.Delete(all, 0, n)
	}
	return all
}

// Listen has the watcher get the sound, from the next picture on.
func (w *Watcher) Listen() {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.listens = true
}

// Sound returns, once, the sound up to that of a pair that Next has returned, or all that is there
// if p is nil.
func (w *Watcher) Sound(p *Pair) []sound.Packet {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	n := len(w.sounds)
	if p != nil {
		if i := slices.IndexFunc(w.sounds, func(x sound.Packet) bool { return x.At > p.At }); i >= 0 {
			n = i
		}
	}
	all := slices.Clone(w.sounds[:n])
	w.sounds = slices.Delete(w.sounds, 0, n)
	return all
}
