package media

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"vidfilter/internal/e2e"
)

// element returns an element of Matroska.
func element(id uint32, parts ...[]byte) []byte {
	body := slices.Concat(parts...)
	head := bytes.TrimLeft(binary.BigEndian.AppendUint32(nil, id), "\x00")
	size := binary.BigEndian.AppendUint64(nil, uint64(len(body)))
	size[0] = 1 // the length has eight bytes
	return slices.Concat(head, size, body)
}

func numberElement(id uint32, n int) []byte {
	return element(id, binary.BigEndian.AppendUint64(nil, uint64(n)))
}

func textElement(id uint32, s string) []byte { return element(id, []byte(s)) }

func repeated(n int, one func(i int) []byte) []byte {
	var all []byte
	for i := range n {
		all = append(all, one(i)...)
	}
	return all
}

// matroska writes a file of five bare pictures with more tracks, elements before the pictures, and
// blocks behind the first of them.
func matroska(t *testing.T, name string, tracks, before, blocks []byte) string {
	const w, h = 64, 48
	video := element(0xae, numberElement(0xd7, 1), numberElement(0x73c5, 1), numberElement(0x83, 1), textElement(0x86, "V_UNCOMPRESSED"),
		numberElement(0x23e383, 40e6), element(0xe0, numberElement(0xb0, w), numberElement(0xba, h), textElement(0x2eb524, "I420")))
	picture := func(i int) []byte {
		return element(0xa3, []byte{0x81, 0, byte(40 * i), 0x80}, make([]byte, w*h*3/2))
	}
	return put(t, name, slices.Concat(
		element(0x1a45dfa3, numberElement(0x4286, 1), numberElement(0x42f7, 1), textElement(0x4282, "matroska"), numberElement(0x4287, 4), numberElement(0x4285, 2)),
		element(0x18538067,
			element(0x1549a966, numberElement(0x2ad7b1, 1e6)),
			element(0x1654ae6b, video, tracks), before,
			element(0x1f43b675, numberElement(0xe7, 0), picture(0), blocks, repeated(4, func(i int) []byte { return picture(i + 1) })))))
}

func subtitleTrack(n int) []byte {
	return element(0xae, numberElement(0xd7, n), numberElement(0x73c5, n), numberElement(0x83, 17), textElement(0x86, "S_TEXT/UTF8"))
}

// subtitle returns a block of track 2.
func subtitle(text string) []byte {
	return element(0xa0, element(0xa1, []byte{0x82, 0, 10, 0}, []byte(text)), numberElement(0x9b, 100))
}

func chapterElements(n int) []byte {
	order := rand.New(rand.NewPCG(1, 2)).Perm(n) // FFmpeg looks at all of them for each that does not ascend
	return element(0x1043a770, element(0x45b9, repeated(n, func(i int) []byte {
		return element(0xb6, numberElement(0x73c4, order[i]+1), numberElement(0x91, i*1000), numberElement(0x92, i*1000+900))
	})))
}

func tagElements(n int) []byte {
	return element(0x1254c367, element(0x7373, element(0x63c0), repeated(n, func(i int) []byte {
		return element(0x67c8, textElement(0x45a3, fmt.Sprint("T", i)), textElement(0x4487, "v"))
	})))
}

// A container with more parts than any film is refused, in a time that does not depend on their
// number. Files within the limits are kept.
func TestLimits(t *testing.T) {
	e2e.Start(t, true)
	tracks := func(n int) []byte { return repeated(n, func(i int) []byte { return subtitleTrack(i + 2) }) }
	for _, c := range []struct {
		name           string
		tracks, before []byte
		says           string // empty where the file is read
	}{
		{"tracks-100.mkv", tracks(100), nil, ""},
		{"tracks-1100.mkv", tracks(1100), nil, "it has more than 999 streams"},
		{"chapters-2000.mkv", nil, chapterElements(2000), ""},
		{"chapters-100000.mkv", nil, chapterElements(100_000), "it has more than 10000 chapters"},
		{"tags-2000.mkv", nil, tagElements(2000), ""},
		{"tags-100000.mkv", nil, tagElements(100_000), "it has more than 10000 tags"},
	} {
		in := matroska(t, c.name, c.tracks, c.before, nil)
		out, said, code := attempt(t, in, "mkv", "")
		if c.says == "" && code == 0 || c.says != "" && code == 3 && strings.Contains(said, c.says) && strings.Contains(said, "ffmpeg -map") && !e2e.Exists(out) {
			continue
		}
		t.Errorf("%s: exit code %d: %s", c.name, code, said)
	}
}

func countSubtitles(t *testing.T, path string) int {
	return bytes.Count(run(t, "ffprobe", "-v", "error", "-select_streams", "s", "-show_entries", "packet=size", "-of", "csv=p=0", path), []byte("\n"))
}

// Any number of subtitles at one time, and of any length, are copied, or left out with a message.
func TestManySubtitles(t *testing.T) {
	e2e.Start(t, true)
	many := matroska(t, "subtitles-100000.mkv", subtitleTrack(2), nil, repeated(100_000, func(int) []byte { return subtitle("word") }))
	out, _ := filter(t, many, "mkv", "")
	if n := countSubtitles(t, out); n != 100_000 {
		t.Errorf("%d subtitles", n)
	}
	long := matroska(t, "subtitle-long.mkv", subtitleTrack(2), nil, append(subtitle(strings.Repeat("word ", 200_000)), subtitle("the other")...))
	out, _ = filter(t, long, "mkv", "")
	if n := countSubtitles(t, out); n != 2 {
		t.Errorf("%d long subtitles", n)
	}
	out, said, code := attempt(t, long, "mp4", "")
	if code != 6 || !strings.Contains(said, "a subtitle of 1.00 MB is left out") || !strings.Contains(said, "subtitles left out") {
		t.Errorf("exit code %d: %s", code, said)
	}
	if text := run(t, "ffmpeg", "-v", "error", "-i", out, "-f", "srt", "-"); !bytes.Contains(text, []byte("the other")) || bytes.Contains(text, []byte("word")) {
		t.Errorf("subtitles: %.200s", text)
	}
}

// Messages beside a picture, of 19 bytes each, may not take more memory than a picture.
func TestManyMessages(t *testing.T) {
	e2e.Start(t, true)
	memory := func(in string) int64 {
		cmd := exec.Command(e2e.Program, "-i", in, "-o", output("mkv"), "--progress", "none", "--threads", "1", "-r", "0", "--preset", "ultrafast")
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", filepath.Base(in), err, said)
		}
		return cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss / 1000 // MB, including the decoding process
	}
	plain := clip(t, "h264.h264", inputArgs("h264.h264"))
	data := e2e.Read(t, plain)
	i := bytes.Index(data, []byte{0, 0, 1, 0x65}) // the first key picture
	if i < 0 {
		t.Fatal("no key picture")
	}
	message := slices.Concat([]byte{5, 17}, []byte("of no use to them"))
	crowded := put(t, "messages.h264", slices.Concat(data[:i], []byte{0, 0, 1, 6}, bytes.Repeat(message, 200_000), []byte{0x80, 0}, data[i:]))
	if a, b := memory(plain), memory(crowded); b > a+100 {
		t.Errorf("%d MB, and %d MB with messages", a, b)
	}
}
