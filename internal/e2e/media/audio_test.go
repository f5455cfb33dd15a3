package media

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
)

// sound is a decoded audio stream: where it starts, in seconds from the video's first frame, and
// its first channel.
type sound struct {
	start   float64
	rate    int
	samples []float64
}

func listen(t *testing.T, path string) sound {
	t.Helper()
	list := framesOf(t, path, "audio")
	if len(list) == 0 {
		t.Fatalf("%s: no sound", path)
	}
	s := sound{start: number(list[0].Time) - times(t, path)[0], rate: int(number(probe(t, path).kind("audio")[0].SampleRate))}
	pcm := run(t, "ffmpeg", "-v", "quiet", "-nostdin", "-i", "file:"+path, "-map", "0:a:0", "-af", "pan=mono|c0=c0", "-f", "s16le", "pipe:1")
	for i := 0; i+1 < len(pcm); i += 2 {
		s.samples = append(s.samples, float64(int16(binary.LittleEndian.Uint16(pcm[i:]))))
	}
	return s
}

// lag returns by how many samples b is later than a, at most 100, and how alike they are then, up
// to 1.
func lag(a, b sound) (best int, likeness float64) {
	shift := int(math.Round((b.start - a.start) * float64(a.rate)))
	for d := -100; d <= 100; d++ {
		var ab, aa, bb float64
		for i := range b.samples {
			j := i + shift - d
			if j < 0 || j >= len(a.samples) {
				continue
			}
			ab += a.samples[j] * b.samples[i]
			aa += a.samples[j] * a.samples[j]
			bb += b.samples[i] * b.samples[i]
		}
		if r := ab / math.Sqrt(aa*bb+1); r > likeness {
			best, likeness = d, r
		}
	}
	return best, likeness
}

// Sound that a container cannot hold is converted with a warning, and keeps its length and its time
// to the sample. Lossless conversions keep all samples.
func TestAudioConversion(t *testing.T) {
	// A sweep, since a steady tone fits itself a period later.
	const sweep = "-f lavfi -i aevalsrc='0.5*sin(2000*t+3000*t*t)':s=%d:d=0.8:c=%s "
	for _, c := range []struct {
		from, codec, to, becomes string
		rate                     int
		layout                   string
		offset                   string
	}{
		{"mkv", "pcm_s16le", "ts", "aac", 48000, "stereo", "0"},
		{"mkv", "flac", "ts", "aac", 44100, "stereo", "0.25"},
		{"mkv", "libvorbis", "ts", "aac", 48000, "mono", "0"},
		{"mkv", "flac -sample_fmt s32", "mov", "pcm_s24le", 48000, "5.1", "0"},
		{"avi", "adpcm_ms", "mp4", "aac", 22050, "mono", "0"},
		{"avi", "adpcm_ms", "mov", "aac", 22050, "mono", "0"},
		{"avi", "adpcm_ima_wav", "mov", "aac", 22050, "mono", "0"},
		{"mkv", "adpcm_yamaha", "mov", "aac", 44100, "stereo", "0"},
		{"avi", "adpcm_ms", "mkv", "", 22050, "mono", "0"},
		{"mov", "pcm_alaw", "mp4", "aac", 8000, "mono", "0"},
		{"mkv", "pcm_s24le", "mp4", "flac", 96000, "stereo", "0.1"},
		{"mov", "pcm_s24be", "mp4", "flac", 48000, "stereo", "0"},
		{"mov", "pcm_s8", "mkv", "flac", 22050, "mono", "0"},
		{"mkv", "tta -sample_fmt s32", "mkv", "flac", 44100, "stereo", "0"},
		{"mov", "pcm_f32be", "mkv", "pcm_f32le", 48000, "stereo", "0"},
		{"m2ts", "pcm_bluray -sample_fmt s32", "mkv", "flac", 48000, "stereo", "0"},
		{"m2ts", "pcm_bluray", "mp4", "flac", 48000, "stereo", "0"},
		{"m2ts", "pcm_bluray -sample_fmt s32", "mov", "pcm_s24le", 48000, "stereo", "0"},
		{"wmv", "wmav2", "mp4", "aac", 44100, "stereo", "0"},
		{"wmv", "wmav2", "mov", "aac", 44100, "stereo", "0"},
	} {
		t.Run(fmt.Sprintf("%s-%s-to-%s", c.from, c.codec, c.to), func(t *testing.T) {
			e2e.Start(t, c.codec == "flac" && c.to == "ts" || c.codec == "wmav2" && c.to == "mov" || c.from == "m2ts" && c.to == "mkv")
			name := strings.ReplaceAll(strings.ReplaceAll(c.codec, " ", ""), "-sample_fmt", "-")
			src := clip(t, fmt.Sprintf("sweep-%s-%s.%s", name, c.layout, c.from), pictures+"-itsoffset "+c.offset+" "+
				fmt.Sprintf(sweep, c.rate, c.layout)+h264+yuv+"-c:a "+c.codec)
			out, said := filter(t, src, c.to, "")
			was, got := probe(t, src).kind("audio")[0], probe(t, out).kind("audio")
			if len(got) != 1 {
				t.Fatalf("%d audio streams: %s", len(got), said)
			}
			told := 1
			if c.becomes == "" {
				told, c.becomes = 0, was.Codec
			}
			if got[0].Codec != c.becomes {
				t.Fatalf("%s becomes %s: %s", was.Codec, got[0].Codec, said)
			}
			how := " at "
			if kept := c.becomes == "flac" || strings.HasPrefix(c.becomes, "pcm"); kept {
				how = " without loss"
				if !bytes.Equal(samples(t, src), samples(t, out)) {
					t.Error("the samples are others")
				}
			}
			if strings.Count(said, "becomes "+c.becomes+how) != told {
				t.Errorf("the conversion is not said once: %s", said)
			}
			if got[0].Channels != was.Channels {
				t.Errorf("%d channels", got[0].Channels)
			}
			a, b := listen(t, src), listen(t, out)
			if a.rate != b.rate {
				t.Fatalf("%d Hz instead of %d", b.rate, a.rate)
			}
			d, likeness := lag(a, b)
			// The containers round the start: ASF and Matroska to a millisecond, picture and sound
			// apart; MPEG-TS to 1/90000 s.
			most := 1
			if c.from == "wmv" || c.from == "mkv" {
				most += c.rate / 1000
			}
			if likeness < 0.98 || d < -most || d > most {
				t.Errorf("the sound is %d samples late (likeness %.3f); it starts at %.6f instead of %.6f", d, likeness, b.start, a.start)
			}
			// It may end in a frame of 1024 samples that is filled up, and begin with the
			// encoder's silence.
			if n := len(b.samples) - len(a.samples); n < -1 || n > 2*1024 {
				t.Errorf("%d samples instead of %d", len(b.samples), len(a.samples))
			}
		})
	}
}

// samples decodes sound to 32 bits.
func samples(t *testing.T, path string) []byte {
	t.Helper()
	return run(t, "ffmpeg", "-v", "quiet", "-nostdin", "-i", "file:"+path, "-map", "0:a:0", "-c:a", "pcm_s32le", "-f", "s32le", "pipe:1")
}

// A pause in the sound stays: the sound after it keeps its time.
func TestPauseInConvertedAudio(t *testing.T) {
	e2e.Start(t, false)
	src := clip(t, "pause.mkv", "-f lavfi -i testsrc2=s=96x64:r=25:d=2 -f lavfi -i aevalsrc='0.5*sin(2000*t+3000*t*t)':s=48000:d=2 "+
		"-af aselect=lt(t\\,0.5)+gt(t\\,1.2) "+h264+yuv+"-c:a flac")
	out, _ := filter(t, src, "ts", "")
	a, b := listen(t, src), listen(t, out)
	whole := sound{start: 0, rate: 48000}
	for i := range 96000 {
		s := float64(i) / 48000
		v := math.Sin(2000*s+3000*s*s) * 16000
		if s > 0.5 && s < 1.2 {
			v = 0
		}
		whole.samples = append(whole.samples, v)
	}
	if len(a.samples) > 80000 {
		t.Fatal("the clip has no pause")
	}
	// Matroska keeps milliseconds, and the cut falls between packets.
	if d, likeness := lag(whole, b); likeness < 0.9 || d < -48 || d > 48 {
		t.Errorf("%d samples late, likeness %.3f", d, likeness)
	}
}

// Sound that changes in mid-stream costs no frame, and is reported if its track cannot signal it.
func TestSoundChanges(t *testing.T) {
	for _, c := range []struct{ to, change, says string }{
		{"mkv", "-ar 32000 -c:a aac ", "sound that changed"},
		{"mp4", "-ac 2 -c:a aac ", "sound that changed"},
		{"ts", "-ar 32000 -c:a aac ", ""},
		{"mp4", "-c:a mp2 ", "packets that mp4 refused"},
	} {
		t.Run(c.to+strings.ReplaceAll(c.change, " ", ""), func(t *testing.T) {
			e2e.Start(t, c.to == "mkv")
			name := "sound-changes" + strings.ReplaceAll(strings.ReplaceAll(c.change, " ", ""), ":", "") + ".ts"
			first := e2e.Read(t, clip(t, "first-"+name, both+h264+yuv+"-c:a aac -output_ts_offset 5 -muxdelay 0"))
			second := e2e.Read(t, clip(t, "second-"+name, both+h264+yuv+c.change+"-output_ts_offset 5.8 -muxdelay 0"))
			put(t, "joined-"+name, append(first, second...))
			src := clip(t, name, "-i @joined-"+name+" -c copy") // numbers the packets anew
			out, said, code := attempt(t, src, c.to, "")
			if n := len(frames(t, out)); n != 40 || (code == 0) != (c.says == "") || !strings.Contains(said, c.says) {
				t.Errorf("%d frames of 40, exit code %d: %s", n, code, said)
			}
		})
	}
}
