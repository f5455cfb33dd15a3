package live

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"vidfilter/live/sound"
	"vidfilter/pipeline"
)

// Microphone is sound beside a camera of this machine: samples that a program writes as it records
// them.
type Microphone struct {
	track *sound.Track
	from  io.Reader
	ended func(error)
	begin sync.Once

	mu    sync.Mutex
	speak func(sound.Packet) // nil while the camera is closed
}

// The form of a microphone's samples, and how many are read at once.
const (
	microphoneRate  = 48000
	microphonePiece = 20 * time.Millisecond
	microphoneBytes = 2 * 2 * microphoneRate * int(microphonePiece/time.Millisecond) / 1000
)

// NewMicrophone returns a microphone that reads 16-bit samples, little endian, of two channels at
// 48 kHz, from the first picture of its camera until they end. Then it calls ended, with nil if
// that was the end of from.
func NewMicrophone(from io.Reader, ended func(error)) (*Microphone, error) {
	track, err := sound.PCMTrack(microphoneRate)
	if err != nil {
		return nil, err
	}
	return &Microphone{track: track, from: from, ended: ended}, nil
}

// Beside returns a function that opens a camera with the microphone's sound.
func (m *Microphone) Beside(open func(context.Context, *pipeline.Pool, StatusFunc) (Source, error)) func(context.Context, *pipeline.Pool, StatusFunc) (Source, error) {
	return func(ctx context.Context, pool *pipeline.Pool, tell StatusFunc) (Source, error) {
		src, err := open(ctx, pool, tell)
		if err != nil {
			return nil, err
		}
		return &cameraWithSound{src, m}, nil
	}
}

// cameraWithSound is a camera with a microphone. It is a speaker.
type cameraWithSound struct {
	Source
	m *Microphone
}

func (s *cameraWithSound) Track() *sound.Track { return s.m.track }

func (s *cameraWithSound) Next(ctx context.Context) (Shot, error) {
	shot, err := s.Source.Next(ctx)
	shot.At = time.Duration(shot.Taken.UnixNano())
	return shot, err
}

func (s *cameraWithSound) Speak(to func(sound.Packet)) {
	s.m.hand(to)
	s.m.begin.Do(func() { go func() { s.m.ended(s.m.read()) }() })
}

func (s *cameraWithSound) Close() {
	s.m.hand(nil)
	s.Source.Close()
}

func (m *Microphone) hand(to func(sound.Packet)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.speak = to
}

// recentPieces are those whose delay counts.
const recentPieces = 100

// read reads the samples to their end. Their times follow the number of samples. A piece that waits
// in a pipe comes late, so the least delay of the last two seconds counts: samples may be lost.
func (m *Microphone) read() error {
	var delays []time.Duration
	var last time.Duration
	for end := microphonePiece; ; end += microphonePiece {
		b := make([]byte, microphoneBytes)
		if _, err := io.ReadFull(m.from, b); err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				return nil
			}
			return err
		}
		if delays = append(delays, time.Duration(time.Now().UnixNano())-end); len(delays) > recentPieces {
			delays = delays[1:]
		}
		at := slices.Min(delays) + end - microphonePiece
		if at <= last {
			continue
		}
		last = at
		m.mu.Lock()
		speak := m.speak
		m.mu.Unlock()
		if speak != nil {
			speak(sound.Packet{Data: b, At: at, Length: microphonePiece})
		}
	}
}
