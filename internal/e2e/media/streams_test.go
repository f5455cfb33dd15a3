package media

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
)

// sameStream compares payloads and times of a stream that was carried along. Times are compared as
// seconds from the first video frame.
func sameStream(t *testing.T, src, out string, a, b stream, tolerance float64) {
	t.Helper()
	x, y := probe(t, src), probe(t, out)
	was, is := x.of(a), y.of(b)
	if len(was) != len(is) || len(was) == 0 {
		t.Errorf("stream %d (%s): %d packets instead of %d", a.Index, a.Codec, len(is), len(was))
		return
	}
	zero, zeroOut := times(t, src)[0], times(t, out)[0]
	var got, want []float64
	for i := range was {
		if was[i].Hash != is[i].Hash {
			t.Errorf("stream %d (%s): packet %d has other bytes", a.Index, a.Codec, i)
			return
		}
		if was[i].PTS == nil { // cover art
			continue
		}
		got, want = append(got, is[i].seconds(t, b)-zeroOut), append(want, was[i].seconds(t, a)-zero)
	}
	sameTimes(t, fmt.Sprintf("stream %d (%s)", a.Index, a.Codec), got, want, tolerance)
}

const srt = "1\n00:00:00,100 --> 00:00:00,300\nHello, <i>world</i>\n\n2\n00:00:00,400 --> 00:00:00,700\nSecond line\nand third\n\n"

const chapters = `;FFMETADATA1
title=The film
artist=Somebody
comment=with = signs; and ünicode
my_own_key=its value
[CHAPTER]
TIMEBASE=1/1000
START=0
END=300
title=One
[CHAPTER]
TIMEBASE=1/1000
START=300
END=800
title=Two ünd more
`

// A film with everything that a Matroska file holds.
func richMKV(t *testing.T) string {
	t.Helper()
	put(t, "subs.srt", []byte(srt))
	put(t, "meta.txt", []byte(chapters))
	put(t, "font.ttf", []byte(strings.Repeat("not really a font ", 50)))
	clip(t, "cover.jpg", "-f lavfi -i testsrc2=s=32x32:d=0.04 -frames:v 1 -update 1")
	return clip(t, "rich.mkv", both+"-f lavfi -i sine=f=880:r=44100:d=0.8 -i @subs.srt -i @subs.srt -i @meta.txt -map 0:v -map 1:a -map 2:a -map 3 -map 4 "+
		"-map_metadata 5 -map_chapters 5 "+bframes+yuv+"-c:a:0 aac -c:a:1 libvorbis -c:s:0 srt -c:s:1 ass "+
		"-metadata:s:a:0 language=eng -metadata:s:a:0 'title=Main sound' -metadata:s:a:1 language=ger -metadata:s:s:0 language=fre "+
		"-disposition:a:0 default -disposition:a:1 hearing_impaired -disposition:s:0 forced -disposition:s:1 0 "+
		"-attach @font.ttf -metadata:s:t:0 mimetype=font/ttf -metadata:s:t:0 filename=font.ttf "+
		"-attach @cover.jpg -metadata:s:t:1 mimetype=image/jpeg -metadata:s:t:1 filename=cover.jpg")
}

func TestMatroskaKeepsEverything(t *testing.T) {
	e2e.Start(t, true)
	src := richMKV(t)
	out, said := filter(t, src, "mkv", "")
	if strings.Contains(said, "warning") {
		t.Errorf("there is nothing to warn of: %s", said)
	}
	a, b := probe(t, src), probe(t, out)
	if len(a.Streams) != len(b.Streams) {
		t.Fatalf("%d streams instead of %d", len(b.Streams), len(a.Streams))
	}
	for i, s := range a.Streams {
		o := b.Streams[i]
		if s.Kind != o.Kind || s.Codec != o.Codec && s.Kind != "video" {
			t.Errorf("stream %d is %s %s instead of %s %s", i, o.Kind, o.Codec, s.Kind, s.Codec)
		}
		if !maps.Equal(s.Disposition, o.Disposition) {
			t.Errorf("stream %d has dispositions %v instead of %v", i, o.Disposition, s.Disposition)
		}
		for _, k := range []string{"language", "title", "mimetype", "filename"} {
			if s.Tags[k] != o.Tags[k] {
				t.Errorf("stream %d has %s %q instead of %q", i, k, o.Tags[k], s.Tags[k])
			}
		}
		if s.Kind == "audio" || s.Kind == "subtitle" || s.Kind == "video" && s.Disposition["attached_pic"] == 1 {
			sameStream(t, src, out, s, o, 0)
			if s.Extradata != o.Extradata {
				t.Errorf("stream %d has other extradata", i)
			}
		}
	}
	sameChapters(t, a, b, 0)
	sameTags(t, a.Format.Tags, b.Format.Tags)
	var fonts [2]string
	for i, f := range []string{src, out} {
		font := output("ttf")
		// ffmpeg also requires an output. Its error is ignored.
		_ = exec.Command("ffmpeg", "-v", "quiet", "-nostdin", "-y", "-dump_attachment:t:0", font, "-i", f).Run()
		data := e2e.Read(t, font)
		fonts[i] = string(data)
	}
	if want, got := fonts[0], fonts[1]; len(want) == 0 || want != got {
		t.Errorf("the attachment has other bytes: %d instead of %d", len(got), len(want))
	}
}

func sameChapters(t *testing.T, a, b *media, shift float64) {
	t.Helper()
	if len(a.Chapters) != len(b.Chapters) || len(a.Chapters) == 0 {
		t.Fatalf("%d chapters instead of %d", len(b.Chapters), len(a.Chapters))
	}
	for i, c := range a.Chapters {
		d := b.Chapters[i]
		if c.Tags["title"] != d.Tags["title"] {
			t.Errorf("chapter %d is %q instead of %q", i, d.Tags["title"], c.Tags["title"])
		}
		sameTimes(t, "chapter", []float64{number(d.Start), number(d.End)}, []float64{number(c.Start) + shift, number(c.End) + shift}, 0.001)
	}
}

// sameTags compares all tags but those with which a muxer signs its work.
func sameTags(t *testing.T, a, b map[string]string) {
	t.Helper()
	for k, v := range a {
		switch strings.ToLower(k) {
		case "encoder", "major_brand", "minor_version", "compatible_brands", "duration":
			continue
		case "creation_time":
			v = strings.TrimSuffix(v, ".000000Z")
			v = strings.TrimSuffix(v, "Z")
			if !strings.HasPrefix(b[k], v) {
				t.Errorf("%s is %q instead of %q", k, b[k], v)
			}
			continue
		}
		if !slices.ContainsFunc(slices.Collect(maps.Keys(b)), func(o string) bool { return strings.EqualFold(o, k) && b[o] == v }) {
			t.Errorf("the tag %s=%q is lost: %v", k, v, b)
		}
	}
}

func TestMP4KeepsEverything(t *testing.T) {
	for _, to := range []string{"mp4", "mov", "mkv"} {
		t.Run(to, func(t *testing.T) {
			e2e.Start(t, to == "mp4")
			put(t, "subs.srt", []byte(srt))
			put(t, "meta.txt", []byte(chapters))
			src := clip(t, "rich.mp4", both+"-f lavfi -i sine=f=880:r=44100:d=0.8 -i @subs.srt -i @meta.txt -map 0:v -map 1:a -map 2:a -map 3 "+
				"-map_metadata 4 -map_chapters 4 -movflags use_metadata_tags "+h264+yuv+
				"-c:a:0 aac -c:a:1 ac3 -c:s mov_text -metadata:s:a:0 language=eng -metadata:s:a:1 language=ger -metadata:s:s:0 language=fre "+
				"-disposition:a:0 default -disposition:a:1 0 -metadata creation_time=2020-02-02T02:02:02Z")
			out, said := filter(t, src, to, "")
			a, b := probe(t, src), probe(t, out)
			if x, y := len(a.kind("audio")), len(b.kind("audio")); x != y || y != 2 {
				t.Fatalf("%d audio streams instead of %d: %s", y, x, said)
			}
			tolerance := 0.
			if to == "mkv" {
				tolerance = 0.001
			}
			for i, s := range a.kind("audio") {
				o := b.kind("audio")[i]
				sameStream(t, src, out, s, o, tolerance)
				if s.Tags["language"] != o.Tags["language"] || s.Disposition["default"] != o.Disposition["default"] {
					t.Errorf("audio %d: %v %v", i, o.Tags, o.Disposition)
				}
			}
			if len(b.kind("subtitle")) != 1 || !french(b.kind("subtitle")[0]) {
				t.Errorf("subtitles: %+v: %s", b.kind("subtitle"), said)
			}
			sameChapters(t, a, b, 0)
			sameTags(t, a.Format.Tags, b.Format.Tags)
		})
	}
}

// french knows that QuickTime has the other one of the two codes.
func french(s stream) bool { return s.Tags["language"] == "fre" || s.Tags["language"] == "fra" }

// Cover art is kept byte for byte if the container has a place for it; else its loss is reported.
func TestCoverArt(t *testing.T) {
	for _, c := range []struct {
		from, to string
		held     bool
	}{{"mp4", "mp4", true}, {"mp4", "mkv", true}, {"mkv", "mkv", true}, {"mkv", "mp4", true}, {"mp4", "mov", false}, {"mkv", "ts", false}} {
		t.Run(c.from+"-to-"+c.to, func(t *testing.T) {
			e2e.Start(t, false)
			clip(t, "cover.jpg", "-f lavfi -i testsrc2=s=32x32:d=0.04 -frames:v 1 -update 1")
			src := ""
			if c.from == "mp4" {
				src = clip(t, "cover.mp4", pictures+"-i @cover.jpg -map 0 -map 1 -c:v:0 libx264 -preset ultrafast -pix_fmt:v:0 yuv420p -c:v:1 copy "+
					"-disposition:v:1 attached_pic -metadata title=Film -metadata artist=Me")
			} else {
				src = clip(t, "cover.mkv", pictures+h264+yuv+"-attach @cover.jpg -metadata:s:t mimetype=image/jpeg -metadata:s:t filename=cover.jpg -metadata title=Film")
			}
			out, said := filter(t, src, c.to, "")
			var hashes [2][]string
			for i, m := range []*media{probe(t, src), probe(t, out)} {
				for _, s := range m.Streams {
					if s.Disposition["attached_pic"] == 1 {
						for _, p := range m.of(s) {
							hashes[i] = append(hashes[i], p.Hash)
						}
					}
				}
			}
			if len(hashes[0]) != 1 {
				t.Fatal("the clip has no cover")
			}
			if c.held && !slices.Equal(hashes[0], hashes[1]) {
				t.Errorf("covers %v instead of %v: %s", hashes[1], hashes[0], said)
			}
			if !c.held && (len(hashes[1]) > 0 || strings.Count(said, "is left out") != 1 || !strings.Contains(said, "mjpeg")) {
				t.Errorf("the cover is not named once: %s", said)
			}
		})
	}
	t.Run("beside-unusual-tags", func(t *testing.T) { // MP4 holds the one or the other
		e2e.Start(t, false)
		clip(t, "cover.jpg", "-f lavfi -i testsrc2=s=32x32:d=0.04 -frames:v 1 -update 1")
		src := clip(t, "cover-tags.mkv", pictures+h264+yuv+"-attach @cover.jpg -metadata:s:t mimetype=image/jpeg -metadata:s:t filename=cover.jpg "+
			"-metadata title=Film -metadata unusual=thing")
		out, said := filter(t, src, "mp4", "")
		m := probe(t, out)
		if len(m.Streams) != 2 || m.Format.Tags["title"] != "Film" || !strings.Contains(strings.ToLower(said), "cannot keep the tag unusual") {
			t.Errorf("%d streams, tags %v: %s", len(m.Streams), m.Format.Tags, said)
		}
	})
}

// Chapters move and are cut with the part.
func TestChaptersOfAPart(t *testing.T) {
	e2e.Start(t, false)
	src := richMKV(t)
	out, _ := filter(t, src, "mkv", "--start 0.2 --duration 0.4")
	m := probe(t, out)
	if len(m.Chapters) != 2 || m.Chapters[1].Tags["title"] != "Two ünd more" {
		t.Fatalf("%+v", m.Chapters)
	}
	sameTimes(t, "chapters", []float64{number(m.Chapters[0].Start), number(m.Chapters[0].End), number(m.Chapters[1].Start), number(m.Chapters[1].End)},
		[]float64{0, 0.1, 0.1, 0.4}, 0.001)
}

// Streams that MP4 cannot hold are converted or named.
func TestMatroskaToMP4(t *testing.T) {
	for _, to := range []string{"mp4", "mov", "ts"} {
		t.Run(to, func(t *testing.T) {
			e2e.Start(t, false)
			src := richMKV(t)
			out, said := filter(t, src, to, "")
			a, b := probe(t, src), probe(t, out)
			if len(b.kind("audio")) != 2 {
				t.Errorf("%d audio streams: %s", len(b.kind("audio")), said)
			}
			want := map[string]int{"ttf": 1}
			if to == "ts" {
				want["subrip"], want["ass"] = 1, 1
			} else {
				sameChapters(t, a, b, 0)
				if subs := b.kind("subtitle"); len(subs) != 2 || subs[0].Codec != "mov_text" || !french(subs[0]) {
					t.Errorf("subtitles: %+v: %s", subs, said)
				}
				if got := strings.Count(said, "becomes mov_text"); got != 2 {
					t.Errorf("%d conversions are said: %s", got, said)
				}
			}
			for name, n := range want {
				if got := strings.Count(said, name); got < n {
					t.Errorf("%s is not named: %s", name, said)
				}
			}
			if to == "mov" { // in MP4, there is room for the cover or for the unusual tag
				sameTags(t, a.Format.Tags, b.Format.Tags)
			}
			if to == "mp4" && !strings.Contains(said, "cannot keep the tag my_own_key") {
				t.Errorf("the lost tag is not named: %s", said)
			}
			if to == "ts" && (!strings.Contains(said, "hapters") || !strings.Contains(said, "my_own_key") && !strings.Contains(said, "MY_OWN_KEY")) {
				t.Errorf("lost chapters and tags are not named: %s", said)
			}
		})
	}
}

func subtitles(t *testing.T, path string) string {
	t.Helper()
	return string(run(t, "ffmpeg", "-v", "error", "-nostdin", "-i", "file:"+path, "-map", "0:s:0", "-f", "srt", "pipe:1"))
}

// Text subtitles keep words and times in every container that holds some.
func TestTextSubtitles(t *testing.T) {
	put(t, "subs2.srt", []byte(srt))
	for _, c := range []struct{ from, codec, to, becomes string }{
		{"mkv", "srt", "mp4", "mov_text"}, {"mkv", "ass", "mp4", "mov_text"}, {"mkv", "webvtt", "mp4", "mov_text"}, {"mkv", "srt", "mov", "mov_text"},
		{"mp4", "mov_text", "mkv", "subrip"}, {"mov", "mov_text", "mp4", "mov_text"}, {"mkv", "webvtt", "mkv", "webvtt"}, {"mkv", "ass", "mkv", "ass"},
		{"webm", "webvtt", "mkv", "webvtt"},
	} {
		t.Run(c.from+"-"+c.codec+"-to-"+c.to, func(t *testing.T) {
			e2e.Start(t, c.codec == "srt" && c.to == "mp4")
			video := bframes
			if c.from == "webm" {
				video = "-c:v libvpx -deadline realtime -cpu-used 8 "
			}
			src := clip(t, "subs-"+c.codec+"."+c.from, pictures+"-i @subs2.srt -map 0 -map 1 "+video+yuv+"-c:s "+c.codec+" -metadata:s:s:0 language=spa")
			out, said := filter(t, src, c.to, "")
			subs := probe(t, out).kind("subtitle")
			if len(subs) != 1 || subs[0].Codec != c.becomes || subs[0].Tags["language"] != "spa" {
				t.Fatalf("%+v: %s", subs, said)
			}
			if got, want := subtitles(t, out), subtitles(t, src); got != want || !strings.Contains(got, "Second line") {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// A transport stream keeps its programs, PIDs, languages and names.
func TestTransportStreamPrograms(t *testing.T) {
	e2e.Start(t, false)
	src := clip(t, "programs.ts", pictures+tone+"-f lavfi -i sine=f=880:r=48000:d=0.8 -map 0 -map 1 -map 2 "+bframes+yuv+"-c:a mp2 "+
		"-metadata:s:a:0 language=eng -metadata:s:a:1 language=ger -streamid 0:300 -streamid 1:301 -streamid 2:333 "+
		"-program title=Channel:program_num=7:st=0:st=1:st=2 -metadata service_provider=Somebody")
	out, said := filter(t, src, "ts", "")
	a, b := probe(t, src), probe(t, out)
	if len(a.Programs) != 1 || len(b.Programs) != 1 || a.Programs[0].ID != 7 || b.Programs[0].ID != 7 {
		t.Fatalf("programs %+v instead of %+v: %s", b.Programs, a.Programs, said)
	}
	if !maps.Equal(a.Programs[0].Tags, b.Programs[0].Tags) || b.Programs[0].Tags["service_name"] != "Channel" {
		t.Errorf("the program has %v instead of %v", b.Programs[0].Tags, a.Programs[0].Tags)
	}
	for i, s := range a.Streams {
		o := b.Streams[i]
		if s.ID != o.ID || s.Tags["language"] != o.Tags["language"] {
			t.Errorf("stream %d: PID %s %s instead of %s %s", i, o.ID, o.Tags["language"], s.ID, s.Tags["language"])
		}
	}
	sameStream(t, src, out, a.kind("audio")[0], b.kind("audio")[0], 0)
}

// Timecode tracks are made anew from the tag, with the time of the first picture.
func TestTimecode(t *testing.T) {
	for _, to := range []string{"mov", "mp4", "mkv"} {
		for args, want := range map[string]string{"": "01:02:03:04", "--start 0.4": "01:02:03:14", "--duration 0.4": "01:02:03:04"} {
			t.Run(to+args, func(t *testing.T) {
				e2e.Start(t, false)
				src := clip(t, "timecode.mov", both+bframes+yuv+"-c:a aac -timecode 01:02:03:04")
				out, said := filter(t, src, to, args)
				m := probe(t, out)
				got := m.Format.Tags["TIMECODE"] + m.Format.Tags["timecode"]
				for _, s := range m.Streams {
					got += s.Tags["timecode"] + s.Tags["TIMECODE"]
				}
				if strings.ReplaceAll(got, want, "") != "" || got == "" {
					t.Errorf("timecode %q instead of %s: %s", got, want, said)
				}
				if to != "mkv" && len(m.kind("data")) != 1 {
					t.Errorf("%d data tracks", len(m.kind("data")))
				}
			})
		}
	}
}

// A part of a program stream begins with its first picture's timecode, though few pictures have a
// time there.
func TestTimecodeOfGroups(t *testing.T) {
	e2e.Start(t, false)
	src := clip(t, "timecode-parts.mpg", "-f lavfi -i testsrc2=s=96x64:r=25:d=3 -c:v mpeg2video -bf 2 -timecode 01:02:03:04")
	for start, want := range map[string]string{"0.96": "01:02:04:03", "1": "01:02:04:04", "1.3": "01:02:04:12", "2.52": "01:02:05:17"} {
		out, said := filter(t, src, "mkv", "--start "+start)
		if got := probe(t, out).Format.Tags["TIMECODE"]; got != want {
			t.Errorf("from %s: timecode %q instead of %s: %s", start, got, want, said)
		}
	}
}

// pgs is a Blu-ray subtitle stream of two cues: a small square that comes, goes and comes again.
func pgs() []byte {
	var b []byte
	segment := func(ms uint32, kind byte, data ...byte) {
		b = append(b, "PG"...)
		b = binary.BigEndian.AppendUint32(b, 90*ms)
		b = binary.BigEndian.AppendUint32(b, 0)
		b = append(b, kind, byte(len(data)>>8), byte(len(data)))
		b = append(b, data...)
	}
	show := func(ms uint32, number byte, on bool) {
		if on {
			segment(ms, 0x16, 0, 96, 0, 64, 0x10, 0, number, 0x80, 0, 0, 1, 0, 0, 0, 0, 0, 8, 0, 8)
		} else {
			segment(ms, 0x16, 0, 96, 0, 64, 0x10, 0, number, 0, 0, 0, 0)
		}
		segment(ms, 0x17, 1, 0, 0, 8, 0, 8, 0, 8, 0, 4)
		if on {
			segment(ms, 0x14, 0, 0, 1, 235, 128, 128, 255)
			rle := []byte{}
			for range 4 {
				rle = append(rle, 0, 0x88, 1, 0, 0) // eight times colour 1, end of the line
			}
			segment(ms, 0x15, append([]byte{0, 0, 0, 0xc0, 0, 0, byte(len(rle) + 4), 0, 8, 0, 4}, rle...)...)
		}
		segment(ms, 0x80)
	}
	show(100, 0, true)
	show(300, 1, false)
	show(400, 2, true)
	show(700, 3, false)
	return b
}

// Bitmap subtitles are copied if the container has a place for them; else their loss is reported.
func TestPictureSubtitles(t *testing.T) {
	for _, c := range []struct {
		codec, to string
		held      bool
	}{
		{"copy", "mkv", true}, {"copy", "ts", false}, {"copy", "mp4", false}, {"copy", "mov", false},
		{"dvdsub", "mkv", true}, {"dvdsub", "mp4", true}, {"dvdsub", "ts", false},
	} {
		t.Run(c.codec+"-to-"+c.to, func(t *testing.T) {
			e2e.Start(t, false)
			put(t, "pictures.sup", pgs())
			src := clip(t, "picture-subs-"+c.codec+".mkv", pictures+"-i @pictures.sup -map 0 -map 1 "+h264+yuv+"-c:s "+c.codec)
			out, said := filter(t, src, c.to, "")
			was, is := probe(t, src).kind("subtitle"), probe(t, out).kind("subtitle")
			if len(was) != 1 {
				t.Fatal("the clip has no subtitles")
			}
			if !c.held {
				if len(is) != 0 || strings.Count(said, "is left out") != 1 || !strings.Contains(said, was[0].Codec) {
					t.Errorf("%+v: %s", is, said)
				}
				return
			}
			if len(is) != 1 {
				t.Fatalf("%d subtitle streams: %s", len(is), said)
			}
			sameStream(t, src, out, was[0], is[0], 0.001)
		})
	}
}

// Audio whose codec a transport stream does not name, so that the reader must detect it.
func TestUnnamedAudioInTransportStreams(t *testing.T) {
	e2e.Start(t, false)
	for _, codec := range []string{"dca -strict -2", "ac3", "mp2"} {
		name, _, _ := strings.Cut(codec, " ")
		src := clip(t, name+".ts", pictures+tone+"-map 0 -map 1 "+bframes+yuv+"-c:a "+codec)
		out, said := filter(t, src, "mkv", "")
		a, b := probe(t, src).kind("audio")[0], probe(t, out).kind("audio")[0]
		if a.Codec != b.Codec {
			t.Errorf("%s became %s: %s", a.Codec, b.Codec, said)
			continue
		}
		sameStream(t, src, out, a, b, 0.001) // Matroska keeps milliseconds
	}
}

// WebVTT stays in Matroska, in either of its forms.
func TestWebVTT(t *testing.T) {
	e2e.Start(t, true)
	put(t, "cues.vtt", []byte("WEBVTT\n\n00:00.100 --> 00:00.300\nHello\n\n00:00.400 --> 00:00.700\nSecond line\n"))
	webm := e2e.Read(t, clip(t, "webvtt.mkv", pictures+"-i @cues.vtt -map 0 -map 1 "+h264+yuv+"-c:s webvtt"))
	other := bytes.Replace(webm, []byte("D_WEBVTT/SUBTITLES"), []byte("S_TEXT/WEBVTT\x00\x00\x00\x00\x00"), 1)
	for name, data := range map[string][]byte{"webvtt-as-webm.mkv": webm, "webvtt-as-text.mkv": other} {
		out, said := filter(t, put(t, name, data), "mkv", "")
		if subs := probe(t, out).kind("subtitle"); len(subs) != 1 || subs[0].Codec != "webvtt" {
			t.Errorf("%s: %v: %s", name, subs, said)
			continue
		}
		if text := run(t, "ffmpeg", "-v", "quiet", "-i", "file:"+out, "-map", "0:s", "-f", "srt", "pipe:1"); !bytes.Contains(text, []byte("Hello")) ||
			!bytes.Contains(text, []byte("00:00:00,400 --> 00:00:00,700")) {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// MP4 leaves out a track of sound without packets, with a message and without a loss.
func TestEmptyTrack(t *testing.T) {
	e2e.Start(t, false)
	src := clip(t, "empty-track.mkv", both+h264+yuv+"-c:a aac -bsf:a noise=drop=1")
	if out, said := filter(t, src, "mp4", ""); len(probe(t, out).kind("audio")) != 0 || !strings.Contains(said, "(audio aac) is left out: it is empty") {
		t.Error(said)
	}
}
