package encode_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"vidfilter/decode"
	"vidfilter/encode"
	"vidfilter/internal/e2e"
)

// edit is an entry of an edit list, in seconds. A negative start makes an empty edit.
type edit struct{ from, length float64 }

// edited gives every track of an MP4 file an edit list in place of the one that it has, and begins
// where that does. The index must be last.
func edited(file []byte, edits ...edit) []byte {
	number := binary.BigEndian.Uint32
	scale := func(b []byte, box string) float64 { return float64(number(b[bytes.Index(b, []byte(box))+16:])) }
	var movie, track float64
	var rewrite func(b []byte) []byte
	rewrite = func(b []byte) (out []byte) {
		for len(b) >= 8 {
			n := number(b)
			kind, body := string(b[4:8]), b[8:n]
			switch b = b[n:]; kind {
			case "moov":
				movie = scale(body, "mvhd")
				body = rewrite(body)
			case "trak":
				track = scale(body, "mdhd")
				body = rewrite(body)
			case "edts":
				begin := float64(max(0, int32(number(body[len(body)-8:]))))
				list := binary.BigEndian.AppendUint32([]byte("elst\x00\x00\x00\x00"), uint32(len(edits)))
				for _, e := range edits {
					from := int32(-1)
					if e.from >= 0 {
						from = int32(math.Round(begin + e.from*track))
					}
					list = binary.BigEndian.AppendUint32(list, uint32(math.Round(e.length*movie)))
					list = binary.BigEndian.AppendUint32(list, uint32(from))
					list = binary.BigEndian.AppendUint32(list, 1<<16)
				}
				body = append(binary.BigEndian.AppendUint32(nil, uint32(4+len(list))), list...)
			}
			out = append(append(binary.BigEndian.AppendUint32(out, uint32(8+len(body))), kind...), body...)
		}
		return out
	}
	return rewrite(file)
}

// span is when packets begin and end that are not hidden, and how many they are.
type span struct {
	n          int
	begin, end float64
}

// shown returns the packets of a file, by the kind of their stream.
func shown(t *testing.T, path string) map[string]span {
	t.Helper()
	all := map[string]span{}
	list := program(t, "ffprobe", "-v", "fatal", "-show_entries", "packet=codec_type,pts_time,duration_time,flags", "-of", "csv=p=0", path)
	for line := range strings.Lines(string(list)) {
		f := strings.Split(strings.TrimSpace(line), ",")
		if len(f) < 4 || strings.Contains(f[3], "D") {
			continue
		}
		at, _ := strconv.ParseFloat(f[1], 64)
		length, _ := strconv.ParseFloat(f[2], 64)
		s, ok := all[f[0]]
		if !ok {
			s.begin = at
		}
		all[f[0]] = span{s.n + 1, min(s.begin, at), max(s.end, at+length)}
	}
	return all
}

// Parts hidden by an edit list stay hidden: sound to within a packet and, where a format has a
// decoder delay, one more. Text begins with the part.
func TestHiddenByEditList(t *testing.T) {
	dir := t.TempDir()
	srt := filepath.Join(dir, "in.srt")
	e2e.Put(t, srt, []byte("1\n00:00:00,500 --> 00:00:01,500\nA line\n\n2\n00:00:01,800 --> 00:00:02,400\nAnother one\n\n"))
	whole := filepath.Join(dir, "whole.mp4")
	program(t, "ffmpeg", "-v", "fatal", "-nostdin", "-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=3", "-f", "lavfi", "-i", "sine=r=48000:d=3", "-i", srt,
		"-map", "0", "-map", "1", "-map", "2", "-threads", "1", "-g", "10", "-bf", "2", "-c:a", "aac", "-c:s", "mov_text", whole)
	for name, c := range map[string]struct {
		edits       []edit
		begin, end  float64
		text, until float64
		said        string
	}{
		"start":       {[]edit{{1, 1.8}}, 0, 1.8, 0, 1.4, ""},
		"late start":  {[]edit{{-1, 0.5}, {1, 1}}, 0.5, 1.5, 0.5, 2, ""},
		"three parts": {[]edit{{0, 0.5}, {1, 0.5}, {2.2, 0.5}}, 0, 1.5, -1, 0, "texts of stream 2 that begin before a later part"},
	} {
		input := filepath.Join(dir, name+".mp4")
		e2e.Put(t, input, edited(e2e.Read(t, whole), c.edits...))
		for format, before := range map[string]float64{"mp4": 0.022, "matroska": 0.043, "mpegts": 0.022} {
			r := newRigWith(t, input, decode.Options{Threads: 1})
			out := r.create(t, encode.Options{Format: format, CRF: 18})
			n, err := r.copyVerified(out)
			if damage := fmt.Sprint(out.Damage(), r.in.Damage().Counts()); err != nil || damage != "map[] map[]" {
				t.Errorf("%s in %s: %v, %s", name, format, err, damage)
			}
			got := shown(t, r.path)
			sound, shift := got["audio"], c.begin-got["video"].begin
			begin, end := sound.begin+shift, sound.end+shift
			if begin < c.begin-before || begin > c.begin+0.001 || end < c.end-0.03 || end > c.end+0.03 {
				t.Errorf("%s in %s: sound from %.3f to %.3f s", name, format, begin, end)
			}
			if most := int((c.end-c.begin)*48000/1024) + 2*len(c.edits) + 1; sound.n > most || math.Abs(float64(n)-(c.end-c.begin)*25) > 2 {
				t.Errorf("%s in %s: %d packets of sound, more than %d, beside %d pictures", name, format, sound.n, most, n)
			}
			if said := strings.Join(r.said, "\n"); format != "mpegts" && c.said != "" != strings.Contains(said, "edit list") || !strings.Contains(said, c.said) && format != "mpegts" {
				t.Errorf("%s in %s: %q", name, format, said)
			}
			if format != "matroska" || c.text < 0 { // MP4 has packets for pauses
				continue
			}
			if text := got["subtitle"]; text.n != 2 || math.Abs(text.begin-c.text) > 0.01 || text.end > c.until+0.01 {
				t.Errorf("%s in %s: texts %v", name, format, text)
			}
		}
	}
}
