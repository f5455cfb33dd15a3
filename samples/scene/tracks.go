package scene

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
)

const sampleRate = 48000

// notes are a pentatonic scale in Hz, one a second, up and down again.
var notes = [...]struct {
	name string
	hz   int
}{
	{"C", 262}, {"D", 294}, {"E", 330}, {"G", 392}, {"A", 440}, {"high C", 523},
	{"A", 440}, {"G", 392}, {"E", 330}, {"D", 294},
}

// WriteTracks writes the other streams of a clip to dir: audio.wav, subtitles.srt, and
// chapters.txt with titles, in FFmpeg's metadata format.
func WriteTracks(dir string, cfg Config) error {
	if err := cfg.Check(); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	ms := cfg.Frames * cfg.RateDen * 1000 / cfg.RateNum
	for name, content := range map[string][]byte{
		"audio.wav":     wav(cfg.Frames * cfg.RateDen * sampleRate / cfg.RateNum),
		"subtitles.srt": []byte(subtitles(ms)),
		"chapters.txt":  []byte(chapters(ms)),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// wav returns stereo PCM of 16 bits. Each second strikes a new note, which moves from left to
// right.
func wav(samples int) []byte {
	const channels, sampleBytes = 2, 2
	size := samples * channels * sampleBytes
	b := make([]byte, 0, 44+size)
	le := binary.LittleEndian
	b = le.AppendUint32(append(b, "RIFF"...), uint32(36+size))
	b = le.AppendUint32(append(b, "WAVEfmt "...), 16)
	b = le.AppendUint16(b, 1) // PCM
	b = le.AppendUint16(b, channels)
	b = le.AppendUint32(b, sampleRate)
	b = le.AppendUint32(b, sampleRate*channels*sampleBytes)
	b = le.AppendUint16(b, channels*sampleBytes)
	b = le.AppendUint16(b, 8*sampleBytes)
	b = le.AppendUint32(append(b, "data"...), uint32(size))
	for n := range samples {
		note, at := notes[n/sampleRate%len(notes)], n%sampleRate
		a := 2 * math.Pi * float64(at*note.hz%sampleRate) / sampleRate
		v := 16384.0 / 9 * (6*math.Sin(a) + 2*math.Sin(2*a) + math.Sin(3*a))
		// Struck within 5 ms, then decaying; silent at the end of the second, without a click.
		left := 1 - float64(at)/sampleRate
		v *= min(float64(at)/240, left) * left
		right := 0.25 + 0.5*float64(at)/sampleRate
		b = le.AppendUint16(b, uint16(int16(v*(1-right))))
		b = le.AppendUint16(b, uint16(int16(v*right)))
	}
	return b
}

func clock(ms int) string {
	return fmt.Sprintf("%02d:%02d:%02d,%03d", ms/3600000, ms/60000%60, ms/1000%60, ms%1000)
}

func subtitles(ms int) string {
	var b strings.Builder
	for i := 0; i*1000 < ms; i++ {
		fmt.Fprintf(&b, "%d\n%s --> %s\nSecond %d: the note is %s.\n\n", i+1,
			clock(i*1000), clock(min(i*1000+900, ms)), i, notes[i%len(notes)].name)
	}
	return b.String()
}

func chapters(ms int) string {
	var b strings.Builder
	b.WriteString(";FFMETADATA1\ntitle=Dusk at the lake\nartist=vidfilter\ncomment=A drawn scene for trying video filters on\n")
	names := []string{"Evening breeze", "Balloons", "Lights in the cottage"}
	for i, name := range names {
		fmt.Fprintf(&b, "[CHAPTER]\nTIMEBASE=1/1000\nSTART=%d\nEND=%d\ntitle=%s\n", ms*i/len(names), ms*(i+1)/len(names), name)
	}
	return b.String()
}
