package live

import (
	"slices"

	"vidfilter/live/sound"
)

// mostHeld limits the packets of sound that wait for their picture or for a watcher: a minute.
const mostHeld = 3000

// listener is a Source with sound.
type listener interface {
	// Track describes the sound of all shots; nil if there is none.
	Track() *sound.Track
}

// Track describes the session's sound; nil before the first picture, and if there is none.
func (s *Session) Track() *sound.Track {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.track
}

// hear takes the sound that came with a picture. It waits for that picture to be shown.
func (s *Session) hear(src Source, heard []sound.Packet) {
	l, ok := src.(listener)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.track = l.Track()
	s.sounds = keep(append(s.sounds, heard...))
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
