package media

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"vidfilter/internal/e2e"
)

// damageSeeds are the files to damage, by their names in inputs and wholes: containers and codecs
// with different indexes, headers and checks.
var damageSeeds = []string{
	"h264.mp4", "h264-open.mp4", "h264-422.mov", "h264-444.mkv", "h264.ts", "h264.m2ts", "h264.flv", "h264.h264", "h264.nut", "h264.avi",
	"hevc.mp4", "hevc.mkv", "hevc.hevc", "av1.mp4", "av1.mkv", "vp8.webm", "vp9.webm", "mpeg1.mpg", "mpeg2.ts", "mpeg4.mp4", "mpeg4.avi",
	"mjpeg.mov", "mjpeg.avi", "ffv1.mkv", "raw.y4m", "huffyuv.avi", "theora.ogg", "gif.gif", "wmv2.wmv", "h263.3gp",
	"fragments.mp4", "mpeg2.mxf", "vp8.ivf", "flv1.flv", "bare.m2v", "animated.apng",
}

func seedArgs(name string) string {
	for _, w := range wholes {
		if w.name == name && w.from == "" {
			return w.args
		}
	}
	return inputArgs(name)
}

type mutation struct {
	name string
	do   func(b []byte, r *rand.Rand) []byte
}

// mutations are the ways of damage. Each returns a new file.
var mutations = []mutation{
	{"a bit flipped", func(b []byte, r *rand.Rand) []byte { return flip(b, r, 1, 0) }},
	{"8 bits flipped", func(b []byte, r *rand.Rand) []byte { return flip(b, r, 8, 0) }},
	{"128 bits flipped", func(b []byte, r *rand.Rand) []byte { return flip(b, r, 128, 0) }},
	{"a bit of the header flipped", func(b []byte, r *rand.Rand) []byte { return flip(b[:min(512, len(b))], r, 1, len(b)) }},
	{"4 bits of the end flipped", func(b []byte, r *rand.Rand) []byte {
		at := len(b) - len(b)/50
		return append(bytes.Clone(b[:at]), flip(b[at:], r, 4, 0)...)
	}},
	{"64 bytes zeroed", func(b []byte, r *rand.Rand) []byte { return fill(b, r, 64, zero) }},
	{"8 % zeroed", func(b []byte, r *rand.Rand) []byte { return fill(b, r, len(b)/12, zero) }},
	{"1 % set", func(b []byte, r *rand.Rand) []byte { return fill(b, r, len(b)/100, func() byte { return 0xff }) }},
	{"1 % random", func(b []byte, r *rand.Rand) []byte {
		return fill(b, r, len(b)/100, func() byte { return byte(r.Uint32()) })
	}},
	{"a byte cut out", func(b []byte, r *rand.Rand) []byte { return remove(b, r, 1) }},
	{"188 bytes cut out", func(b []byte, r *rand.Rand) []byte { return remove(b, r, 188) }},
	{"10 % cut out", func(b []byte, r *rand.Rand) []byte { return remove(b, r, len(b)/10) }},
	{theBeginningLost, func(b []byte, r *rand.Rand) []byte { return bytes.Clone(b[r.IntN(len(b)/10+1):]) }},
	{"the end lost", func(b []byte, r *rand.Rand) []byte { return bytes.Clone(b[:len(b)-1-r.IntN(16)]) }},
	{"cut at a half", func(b []byte, r *rand.Rand) []byte { return bytes.Clone(b[:len(b)/2]) }},
	{"cut at 90 %", func(b []byte, r *rand.Rand) []byte { return bytes.Clone(b[:len(b)*9/10]) }},
	{"cut anywhere", func(b []byte, r *rand.Rand) []byte { return bytes.Clone(b[:1+r.IntN(len(b)-1)]) }},
	{"a block twice", func(b []byte, r *rand.Rand) []byte {
		at, n := block(b, r, 512)
		return slices.Concat(b[:at+n], b[at:])
	}},
	{"blocks exchanged", func(b []byte, r *rand.Rand) []byte {
		at, n := block(b, r, 1024)
		return slices.Concat(b[:at], b[at+n/2:at+n], b[at:at+n/2], b[at+n:])
	}},
	{"bytes put in", func(b []byte, r *rand.Rand) []byte {
		at := r.IntN(len(b))
		return slices.Concat(b[:at], flip(make([]byte, 100), r, 400, 0), b[at:])
	}},
	{"a length made huge", func(b []byte, r *rand.Rand) []byte {
		out := bytes.Clone(b)
		binary.BigEndian.PutUint32(out[r.IntN(max(1, min(2048, len(b)-4))):], 0x7fffffff)
		return out
	}},
}

const theBeginningLost = "the beginning lost"

func zero() byte { return 0 }

// flip inverts random bits of b, and appends the rest of its array up to length whole.
func flip(b []byte, r *rand.Rand, bits, whole int) []byte {
	out := bytes.Clone(b[:max(len(b), whole)])
	for range bits {
		out[r.IntN(len(b))] ^= 1 << r.IntN(8)
	}
	return out
}

func block(b []byte, r *rand.Rand, most int) (at, n int) {
	n = min(most, len(b)-1)
	return r.IntN(len(b) - n), n
}

func fill(b []byte, r *rand.Rand, n int, with func() byte) []byte {
	at, n := block(b, r, max(1, n))
	out := bytes.Clone(b)
	for i := range n {
		out[at+i] = with()
	}
	return out
}

func remove(b []byte, r *rand.Rand, n int) []byte {
	at, n := block(b, r, max(1, n))
	return slices.Concat(b[:at], b[at+n:])
}

// The outcomes of a try.
const (
	outcomeWhole   = "exit 0, all frames"
	outcomeUnseen  = "exit 0, fewer frames, not to be seen"
	outcomeSilent  = "exit 0, fewer frames"
	outcomeDamaged = "exit 6, said to be damaged"
	outcomeRefused = "exit 3 or 4, refused"
	outcomeCrash   = "crash"
	outcomeHang    = "hang"
	outcomeLeft    = "file left"
)

var badOutcomes = []string{outcomeSilent, outcomeCrash, outcomeHang, outcomeLeft}

// damageTry is one file, damaged in one way.
type damageTry struct {
	seed     string
	whole    []byte
	frames   int      // of the whole
	pictures []string // hashes of the whole's
	mutation int
	number   uint64
}

func (d damageTry) String() string {
	return fmt.Sprintf("%s, %s, number %d", d.seed, mutations[d.mutation].name, d.number)
}

// run damages the file, filters it in a folder of its own, and returns the outcome and the
// messages.
func (d damageTry) run(dir string) (outcome, said string, err error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", "", err
	}
	defer os.RemoveAll(dir)
	in := filepath.Join(dir, d.seed)
	random := rand.New(rand.NewPCG(d.number, uint64(d.mutation)))
	if err := os.WriteFile(in, mutations[d.mutation].do(d.whole, random), 0o600); err != nil {
		return "", "", err
	}
	const hang = 60 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	cmd := exec.CommandContext(ctx, e2e.Program, "-i", in, "-o", filepath.Join(dir, "out.mkv"), "--progress", "json", "-r", "0", "--threads", "1",
		"--preset", "ultrafast")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	_ = cmd.Run()
	code, said := cmd.ProcessState.ExitCode(), stderr.String()
	switch left := leftBehind(dir); {
	case ctx.Err() != nil:
		return outcomeHang, said, nil
	case !slices.Contains([]int{0, 3, 4, 6}, code), strings.Contains(said, "goroutine "):
		return outcomeCrash, said, nil
	case (code == 0 || code == 6) && !slices.Equal(left, []string{"out.mkv"}), (code == 3 || code == 4) && len(left) > 0:
		return outcomeLeft, fmt.Sprintf("%v: %s", left, said), nil
	case code == 6:
		return outcomeDamaged, said, nil
	case code != 0:
		return outcomeRefused, said, nil
	case framesSaid(said) >= d.frames:
		return outcomeWhole, said, nil
	case d.looksWhole(in, framesSaid(said)):
		return outcomeUnseen, said, nil
	}
	return outcomeSilent, said, nil
}

func leftBehind(dir string) (names []string) {
	all, _ := os.ReadDir(dir)
	for _, e := range all {
		if !slices.Contains(damageSeeds, e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}

// framesSaid returns the number of frames in the last line of --progress json.
func framesSaid(said string) int {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	var done struct {
		Frame int `json:"frame"`
	}
	_ = json.Unmarshal([]byte(lines[len(lines)-1]), &done)
	return done.Frame
}

// bareStreams have no index, length or numbers: cut at a packet they are whole streams.
var bareStreams = []string{".ts", ".m2ts", ".mpg", ".h264", ".hevc", ".m2v"}

// elementaryStreams are the bare streams without a container.
var elementaryStreams = []string{".h264", ".hevc", ".m2v"}

// looksWhole reports whether the missing frames cannot be noticed. A bare stream may begin later,
// as recordings do, or ffmpeg decodes it without a message and every remaining picture, except the
// one that was cut, is one of the original, in order. An elementary stream may lose a picture
// whose header became that of something else. An index may hide frames, if all packets it names
// are there.
func (d damageTry) looksWhole(in string, frames int) bool {
	if slices.Contains(elementaryStreams, filepath.Ext(d.seed)) && frames == d.frames-1 {
		return true
	}
	if slices.Contains([]string{".mp4", ".mov", ".3gp"}, filepath.Ext(d.seed)) {
		kind, _ := exec.Command("ffprobe", "-v", "quiet", "-show_entries", "format=format_name", "-of", "csv=p=0", in).Output()
		if strings.TrimSpace(string(kind)) == "h263" && mutations[d.mutation].name == theBeginningLost {
			return true // without its first box the file is a bare H.263 stream
		}
		out, _ := exec.Command("ffprobe", "-v", "error", "-count_packets", "-select_streams", "V", "-show_entries", "stream=nb_read_packets",
			"-of", "csv=p=0", in).CombinedOutput()
		return strings.TrimSpace(string(out)) == strconv.Itoa(d.frames)
	}
	if !slices.Contains(bareStreams, filepath.Ext(d.seed)) {
		return false
	}
	if mutations[d.mutation].name == theBeginningLost {
		return true
	}
	pictures, said := decodedHashes(in)
	if n := len(d.pictures) - len(pictures); n > 0 && slices.Equal(pictures, d.pictures[n:]) {
		return true // its first key frame is lost, and the stream begins at the next
	}
	if said != "" {
		return false
	}
	at, others := 0, 0
	for _, p := range pictures {
		if i := slices.Index(d.pictures[at:], p); i >= 0 {
			at += i + 1
		} else {
			others++
		}
	}
	return others <= 1
}

func decodedHashes(in string) (hashes []string, said string) {
	cmd := exec.Command("ffmpeg", "-v", "error", "-nostdin", "-threads", "1", "-i", in, "-map", "0:V:0", "-fps_mode", "passthrough", "-f", "framemd5", "-")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, _ := cmd.Output()
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "#") {
			hashes = append(hashes, line[strings.LastIndex(line, " ")+1:])
		}
	}
	return hashes, stderr.String()
}

// TestRandomDamage damages files in many ways, the same in every run. Nothing may crash, hang,
// leave files behind or lose frames in silence. VIDFILTER_DAMAGE sets the number of tries;
// docs/damage.md has the outcomes.
func TestRandomDamage(t *testing.T) {
	tries := 105
	if s := os.Getenv("VIDFILTER_DAMAGE"); s != "" {
		var err error
		if tries, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	e2e.Start(t, false)
	var work []damageTry
	for i, seed := range damageSeeds {
		d := wholeSeed(t, seed)
		for n := i; n < tries; n += len(damageSeeds) { // every seed meets every mutation in turn
			round := n / len(damageSeeds)
			d.mutation, d.number = (i+round*5)%len(mutations), uint64(round)
			work = append(work, d)
		}
	}
	for _, o := range onceSilent {
		d := wholeSeed(t, o.seed)
		d.mutation, d.number = o.mutation, o.number
		work = append(work, d)
	}
	began := time.Now()
	outcomes := runDamaged(t, work)
	took := time.Since(began).Seconds()
	t.Logf("%d tries of %d files and %d kinds of damage, %.1f s for 100", len(work), len(damageSeeds), len(mutations), took*100/float64(len(work)))
	for _, o := range []string{outcomeWhole, outcomeUnseen, outcomeDamaged, outcomeRefused, outcomeSilent, outcomeCrash, outcomeHang, outcomeLeft} {
		t.Logf("%5d  %s", outcomes[o], o)
	}
	if outcomes[outcomeDamaged] < len(work)/4 {
		t.Error("the damage is not found, or does not reach the files")
	}
}

// onceSilent are tries beyond the short run's that lost frames in silence before.
var onceSilent = []struct {
	seed     string
	mutation int
	number   uint64
}{
	{"h264.nut", slices.IndexFunc(mutations, func(m mutation) bool { return m.name == "1 % set" }), 88},
}

func wholeSeed(t *testing.T, seed string) damageTry {
	t.Helper()
	file := clip(t, seed, seedArgs(seed))
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pictures, said := decodedHashes(file)
	if len(pictures) < 4 || said != "" {
		t.Fatalf("%s: %d pictures: %s", seed, len(pictures), said)
	}
	return damageTry{seed: seed, whole: whole, frames: len(pictures), pictures: pictures}
}

// runDamaged makes the tries and counts the outcomes. Bad ones are errors.
func runDamaged(t *testing.T, work []damageTry) map[string]int {
	t.Helper()
	outcomes := map[string]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	next := make(chan int)
	for range runtime.NumCPU() {
		all.Go(func() {
			for i := range next {
				outcome, said, err := work[i].run(filepath.Join(t.TempDir(), strconv.Itoa(i)))
				mu.Lock()
				if outcomes[outcome]++; err != nil || slices.Contains(badOutcomes, outcome) {
					t.Errorf("%v: %s: %v %s", work[i], outcome, err, said)
				}
				mu.Unlock()
			}
		})
	}
	for i := range work {
		next <- i
	}
	close(next)
	all.Wait()
	return outcomes
}
