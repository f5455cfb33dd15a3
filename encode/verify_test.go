package encode_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/asticode/go-astiav"

	"vidfilter/encode"
	"vidfilter/internal/av"
	"vidfilter/internal/e2e"
)

// finished returns an output of the sample that is finished and passes.
func finished(t *testing.T, r *rig, format string) *encode.Output {
	t.Helper()
	out := r.create(t, encode.Options{Format: format, CRF: 18, Preset: "veryfast"})
	_, err := r.copyVerified(out)
	e2e.Must(t, err)
	return out
}

// rewrite has the ffmpeg program copy the file at path with a change.
func rewrite(t *testing.T, path, format string, change ...string) {
	t.Helper()
	to := filepath.Join(t.TempDir(), "changed")
	args := slices.Concat([]string{"-v", "fatal", "-nostdin", "-i", path, "-map", "0", "-c", "copy", "-copy_unknown"}, change, []string{"-f", format, to})
	program(t, "ffmpeg", args...)
	e2e.Must(t, os.Rename(to, path))
}

// Each file differs in one respect from the muxer's input. An unchanged copy passes.
func TestVerifyFinds(t *testing.T) {
	type whole struct {
		r     *rig
		out   *encode.Output
		bytes []byte
	}
	wholes := map[string]whole{}
	for _, format := range []string{"mp4", "matroska", "mpegts"} {
		r := newRig(t)
		out := finished(t, r, format)
		wholes[format] = whole{r, out, e2e.Read(t, r.path)}
	}
	for _, c := range []struct {
		name    string
		formats string
		change  []string
		want    string
	}{
		{"nothing", "mp4 matroska mpegts", nil, ""},
		{"a frame less", "mp4 matroska mpegts", []string{"-frames:v", "11"}, "it holds 11 frames instead of 12"},
		{"no video", "mp4 matroska mpegts", []string{"-vn"}, "the video stream is not there"},
		{"no sound", "mp4 matroska mpegts", []string{"-an"}, "streams of sound, pictures and text instead of"},
		{"a stream more", "matroska", []string{"-map", "0:a"}, "streams of sound, pictures and text instead of"},
		{"too slow", "mp4 matroska mpegts", []string{"-bsf:v", "setts=ts=TS*1.5:duration=DURATION*1.5"}, "its video lasts 0."},
		{"too fast", "mp4 matroska mpegts", []string{"-bsf:v", "setts=ts=TS*0.75:duration=DURATION*0.75"}, "its video lasts 0."},
		{"other sound", "mp4 matroska mpegts", []string{"-bsf:a", "noise=amount=9"}, "(audio aac) is not what was written"},
		{"other pictures", "mp4 matroska", []string{"-bsf:v", "noise=amount=9"}, "(video h264) is not what was written"},
		{"other text", "mp4 matroska", []string{"-bsf:s", "noise=amount=1"}, "(subtitle "},
		{"sound at another time", "mp4 matroska", []string{"-bsf:a", `setts=ts=TS+eq(N\,5)*0.003/TB`}, "(audio aac) is not what was written"},
	} {
		for format := range strings.FieldsSeq(c.formats) {
			t.Run(c.name+"/"+format, func(t *testing.T) {
				w := wholes[format]
				defer e2e.Put(t, w.r.path, w.bytes)
				rewrite(t, w.r.path, format, c.change...)
				err := w.out.Verify()
				switch {
				case c.want == "" && err != nil:
					t.Error(err)
				case c.want != "" && (!errors.Is(err, encode.ErrDamaged) || !strings.Contains(err.Error(), c.want)):
					t.Errorf("%v, want %q", err, c.want)
				}
			})
		}
	}
}

// A lost data stream is detected, although MP4 may add data streams of its own. The sample's text
// is labelled telemetry here.
func TestVerifyMissesData(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in.mp4")
	e2e.Put(t, in, bytes.ReplaceAll(bytes.ReplaceAll(e2e.Read(t, sample), []byte("tx3g"), []byte("gpmd")), []byte("sbtl"), []byte("meta")))
	for _, format := range []string{"mp4", "mov"} {
		r := newRigOf(t, in)
		out := finished(t, r, format)
		rewrite(t, r.path, format, "-dn", "-map_chapters", "-1")
		if err := out.Verify(); !errors.Is(err, encode.ErrDamaged) || !strings.Contains(err.Error(), "it holds 2 streams instead of 3") {
			t.Errorf("%s: %v", format, err)
		}
	}
}

// Of two streams that are alike, one is altered.
func TestVerifyFindsOneOfTwins(t *testing.T) {
	r := film(t, "in.mp4", "-map", "0", "-map", "1", "-map", "1")
	out := finished(t, r, "mp4")
	rewrite(t, r.path, "mp4", "-bsf:a:1", "noise=amount=9")
	if err := out.Verify(); !errors.Is(err, encode.ErrDamaged) || !strings.Contains(err.Error(), "stream 2 (audio aac) is not what was written") {
		t.Error(err)
	}
}

func TestVerifyMissesAttachment(t *testing.T) {
	font := filepath.Join(t.TempDir(), "font.ttf")
	e2e.Put(t, font, []byte("not really a font"))
	r := film(t, "in.mkv", "-attach", font, "-metadata:s:t", "mimetype=font/ttf")
	out := finished(t, r, "matroska")
	rewrite(t, r.path, "matroska", "-map", "-0:t")
	if err := out.Verify(); !errors.Is(err, encode.ErrDamaged) || !strings.Contains(err.Error(), "it holds 2 streams of sound, pictures and text instead of 3") {
		t.Error(err)
	}
}

// Another video, of fewer frames, stands in front of the one that is filtered.
func TestVerifySecondVideo(t *testing.T) {
	for _, format := range []string{"mp4", "matroska"} {
		r := film(t, "in.mkv", "-map", "0", "-map", "0", "-r:v:0", "5", "-disposition:v:0", "0", "-disposition:v:1", "default")
		if r.in.Video().Index() != 1 {
			t.Fatalf("the video is stream %d", r.in.Video().Index())
		}
		finished(t, r, format)
	}
}

// Cover art that stands in front of the video is not taken for it.
func TestVerifyCoverInFront(t *testing.T) {
	in := filepath.Join(t.TempDir(), "in.mp4")
	program(t, "ffmpeg", "-v", "fatal", "-nostdin", "-i", sample, "-f", "lavfi", "-i", "color=s=32x32:r=25:d=0.04", "-map", "0:v", "-map", "1",
		"-c", "copy", "-c:v:1", "png", "-disposition:v:1", "attached_pic", in)
	e2e.Put(t, in, coverFirst(t, e2e.Read(t, in)))
	r := newRigOf(t, in)
	if r.in.Video().Index() != 1 {
		t.Fatalf("the video is stream %d", r.in.Video().Index())
	}
	finished(t, r, "mp4")
}

// coverFirst moves the description of an MP4 file, which ends in it, in front of its tracks.
func coverFirst(t *testing.T, file []byte) []byte {
	t.Helper()
	moov, udta := bytes.LastIndex(file, []byte("moov")), bytes.LastIndex(file, []byte("udta"))
	if moov < 0 || udta < moov {
		t.Fatal("the file does not end in its description")
	}
	front := moov + 4 + 108 // the movie's header
	return slices.Concat(file[:front], file[udta-4:], file[front:udta-4])
}

func TestVerifyUnreadable(t *testing.T) {
	r := newRig(t)
	out := finished(t, r, "mp4")
	e2e.Must(t, os.Remove(r.path))
	if err := out.Verify(); !errors.Is(err, encode.ErrDamaged) || !strings.Contains(err.Error(), "it cannot be read back") {
		t.Error(err)
	}
}

// Two packets of sound are swapped, with the same counts and times.
func TestVerifyFindsSwappedPackets(t *testing.T) {
	for _, format := range []string{"mp4", "matroska"} {
		t.Run(format, func(t *testing.T) {
			r := newRig(t)
			out := finished(t, r, format)
			swapPackets(t, r.path)
			if err := out.Verify(); !errors.Is(err, encode.ErrDamaged) || !strings.Contains(err.Error(), "(audio aac) is not what was written") {
				t.Error(err)
			}
		})
	}
}

// swapPackets exchanges the payloads of the first two audio packets with equal size and different
// content.
func swapPackets(t *testing.T, path string) {
	t.Helper()
	file, bySize := e2e.Read(t, path), map[int][]byte{}
	list := program(t, "ffprobe", "-v", "error", "-select_streams", "a", "-show_entries", "packet=pos,size", "-of", "csv=p=0:nk=0", path)
	for _, line := range strings.Fields(string(list)) {
		value := map[string]int{}
		for _, field := range strings.Split(line, ",") {
			k, v, _ := strings.Cut(field, "=")
			value[k], _ = strconv.Atoi(v)
		}
		at, size := value["pos"], value["size"]
		// Matroska's position is the block's.
		if !strings.HasPrefix(string(file[at:min(at+4, len(file))]), "\x21") {
			at += bytes.IndexByte(file[at:at+16], 0x21)
		}
		now, other := file[at:at+size], bySize[size]
		if other != nil && !bytes.Equal(now, other) {
			copyOf := bytes.Clone(now)
			copy(now, other)
			copy(other, copyOf)
			e2e.Put(t, path, file)
			return
		}
		bySize[size] = now
	}
	t.Fatal("no two packets have one size")
}

// Properties missing from a file are found, and are no damage.
func TestFoundNamesWhatIsLost(t *testing.T) {
	turned := filepath.Join(t.TempDir(), "turned.mp4")
	program(t, "ffmpeg", "-v", "fatal", "-nostdin", "-i", sample, "-map", "0:v", "-map", "0:a", "-map", "0:s", "-c", "copy", "-metadata:s:v", "rotate=90", turned)
	for _, c := range []struct {
		change []string
		want   string
	}{
		{[]string{"-map_metadata", "-1"}, "tag title: "},
		{[]string{"-map_chapters", "-1"}, "chapter 1: "},
		{[]string{"-metadata:s:a", "language=und"}, "language of stream 1: eng is missing"},
		{[]string{"-metadata:s:v", "rotate=0"}, "rotation of video: 90 degrees counterclockwise is missing"},
		{[]string{"-metadata:s:s", "language=und"}, "language of stream 2: eng is missing"},
	} {
		r := newRigOf(t, turned)
		out := finished(t, r, "mp4")
		if list, _ := r.lost(out); len(r.said) > 0 || len(list) > 0 {
			t.Errorf("of a whole file: said %q, lost %q", r.said, list)
		}
		rewrite(t, r.path, "mp4", c.change...)
		if err := out.Verify(); err != nil {
			t.Errorf("%q: %v", c.change, err)
		}
		if list, told := r.lost(out); told > 0 || !strings.Contains(strings.Join(list, "; "), c.want) {
			t.Errorf("%q: lost %q, want %q; %d were told", c.change, list, c.want, told)
		}
	}
}

func TestFoundNamesLostTitle(t *testing.T) {
	r := film(t, "in.mkv", "-c:a", "aac", "-metadata:s:a", "title=Voice")
	out := finished(t, r, "matroska")
	rewrite(t, r.path, "matroska", "-metadata:s:a", "title=")
	if err := out.Verify(); err != nil {
		t.Error(err)
	}
	if list, _ := r.lost(out); !slices.Equal(list, []string{"title of stream 1: Voice is missing"}) {
		t.Errorf("lost %q", list)
	}
}

// Properties that a container stores in its own way, or does not need, are not lost.
func TestFoundKnowsWhatIsKept(t *testing.T) {
	for _, c := range []struct{ input, said, format string }{
		{"in.ts", "language=", "mp4"},          // und, there
		{"in.mp4", "language=und", "matroska"}, // absent, there
		{"in.mkv", "creation_time=2020-02-02T02:02:02Z", "mp4"},
		{"in.mp4", "language=fre", "mov"}, // fra, there
		{"in.mkv", "language=de", "mp4"},  // deu, there
		{"in.mkv", "language=de", "mov"},  // ger, there
	} {
		r := film(t, c.input, "-c:a", "aac", "-metadata", c.said, "-metadata:s:a", c.said)
		out := finished(t, r, c.format)
		if list, _ := r.lost(out); len(r.said) > 0 || len(list) > 0 {
			t.Errorf("%+v: said %q, lost %q", c, r.said, list)
		}
	}
}

// A property that the format lacks is reported once, before the work, and is then lost.
func TestForesees(t *testing.T) {
	for _, c := range []struct {
		format string
		lost   int
		said   string
	}{
		{"mpegts", 3, `mpegts cannot keep the title of stream 1 (Voice), the tag creation_time, the tag title`},
		{"mov", 1, `mov cannot keep the mark "forced" of stream 1`},
		{"matroska", 0, ""},
		{"mp4", 0, ""},
	} {
		r := film(t, "in.mkv", "-c:a", "aac", "-metadata", "creation_time=2020-02-02T02:02:02Z", "-metadata", "title=Film",
			"-metadata:s:a", "title=Voice", "-disposition:a", "forced")
		if c.format == "mpegts" {
			r = film(t, "in.mkv", "-c:a", "aac", "-metadata", "creation_time=2020-02-02T02:02:02Z", "-metadata", "title=Film", "-metadata:s:a", "title=Voice")
		}
		out := finished(t, r, c.format)
		list, told := r.lost(out)
		if len(list) != c.lost || told != c.lost || strings.Join(r.said, "; ") != c.said {
			t.Errorf("%s: said %q, lost %q, told %d", c.format, r.said, list, told)
		}
	}
}

// A stream without packets, or with empty ones only, may be missing: MP4 leaves it out.
func TestVerifyEmptyStream(t *testing.T) {
	for _, format := range []string{"mp4", "mov", "matroska", "mpegts"} {
		for _, empty := range []bool{false, true} {
			r := newRig(t)
			out := r.create(t, encode.Options{Format: format, CRF: 18})
			r.in.OnPacket(nil)
			if empty {
				r.in.OnPacket(func(p *astiav.Packet) error { return out.WritePacket(emptied(t, p)) })
			}
			if _, err := r.copyVerified(out); err != nil {
				t.Errorf("%s: %v", format, err)
			}
		}
	}
}

// emptied returns a packet without a payload at the time of p.
func emptied(t *testing.T, p *astiav.Packet) *astiav.Packet {
	e := astiav.AllocPacket()
	t.Cleanup(e.Free)
	e.SetStreamIndex(p.StreamIndex())
	e.SetPts(p.Pts())
	e.SetDts(p.Dts())
	return e
}

// Packets of other streams are moved in time.
func TestVerifyTakesTimes(t *testing.T) {
	for name, change := range map[string]func(*astiav.Packet){
		"none of presentation":          func(p *astiav.Packet) { p.SetPts(av.NoPTS) },
		"left out by the list of edits": func(p *astiav.Packet) { p.SetPts(p.Pts() - 4000); p.SetDts(p.Dts() - 4000) },
	} {
		r := film(t, "in.mp4", "-map", "0", "-map", "0", "-g:v:0", "3", "-bf:v:0", "0", "-disposition:v:0", "0", "-disposition:v:1", "default")
		out := r.create(t, encode.Options{Format: "mp4", CRF: 18})
		r.in.OnPacket(func(p *astiav.Packet) error {
			change(p)
			return out.WritePacket(p)
		})
		if _, err := r.copyVerified(out); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Frames at uneven times, coded out of order: MP4's index covers their display time, whichever is
// coded last.
func TestVerifyUnevenTimes(t *testing.T) {
	for first := range 5 {
		r := newRig(t)
		out := r.create(t, encode.Options{Format: []string{"mp4", "mov"}[first%2], CRF: 18, Preset: "veryfast"})
		ctx, at := t.Context(), int64(0)
		for n := range 12 {
			f := r.next(t)
			f.PTS, f.Duration = at, []int64{512, 5120, 1024, 1536, 7680}[(n+first)%5]
			at += f.Duration
			e2e.Must(t, out.Put(ctx, f))
		}
		e2e.Must(t, out.Finish(ctx))
		if err := out.Verify(); err != nil {
			t.Errorf("from gap %d: %v", first, err)
		}
		length := strings.TrimSpace(string(program(t, "ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "stream=duration_ts", "-of", "csv=p=0", r.path)))
		if got, err := strconv.ParseInt(length, 10, 64); err != nil || got < at-1 || got > at+1 {
			t.Errorf("from gap %d: the index is %s long instead of %d", first, length, at)
		}
	}
}

// Tags of files and streams are kept, or their loss is reported before.
func TestTags(t *testing.T) {
	const odd = "-movflags use_metadata_tags -metadata encoding_tool=A -metadata stereo_mode=left_right -metadata foo-fr=B -metadata part_number=7 -metadata Two&words=C"
	const ofStream = "-metadata:s:a artist=A -metadata:s:a encoding_tool-und=B"
	for _, c := range []struct{ input, args, format, said string }{
		{"in.mp4", odd, "matroska", ""},
		{"in.mp4", odd, "mp4", ""},
		{"in.avi", "-metadata language=eng", "mp4", ""},
		{"in.mkv", ofStream, "matroska", ""},
		{"in.mkv", ofStream, "mp4", "mp4 cannot keep the tags of stream 1 (artist: A; encoding_tool: B)"},
		{"in.mkv", ofStream, "mov", "mov cannot keep the tags of stream 1 (artist: A; encoding_tool: B)"},
	} {
		args := strings.Fields(c.args)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "&", " ")
		}
		r := film(t, c.input, append(args, "-c:a", "aac")...)
		out := finished(t, r, c.format)
		list, told := r.lost(out)
		if said := strings.Join(r.said, "; "); said != c.said || len(list) != told || told > 0 && c.said == "" {
			t.Errorf("%s %s in %s: said %q, lost %q, %d were told", c.input, c.args, c.format, said, list, told)
		}
		if sides := program(t, "ffprobe", "-v", "error", "-show_entries", "stream_side_data=side_data_type", "-of", "csv", r.path); bytes.Contains(sides, []byte("Stereo")) {
			t.Errorf("%s: a tag makes the pictures 3D", c.format)
		}
	}
}
