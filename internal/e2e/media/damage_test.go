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

type mutation struct {
	name string
	do   func(b []byte, r *rand.Rand) []byte
}

// mutations are the ways of damage that know no format. Each returns a new file.
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
	outcomeOpen    = "exit 0, fewer frames, to be tried again where ffmpeg is"
	outcomeDamaged = "exit 6, said to be damaged"
	outcomeRefused = "exit 3 or 4, refused"
	outcomeCrash   = "crash"
	outcomeHang    = "hang"
	outcomeLeft    = "file left"
)

var badOutcomes = []string{outcomeSilent, outcomeCrash, outcomeHang, outcomeLeft}

// wholeFile is a file to damage.
type wholeFile struct {
	seedFile
	frames    int
	pictures  []string // hashes
	mutations []mutation
}

// damageTry is one file, damaged in one way.
type damageTry struct {
	*wholeFile
	mutation mutation
	number   uint64
}

func (d damageTry) String() string {
	return fmt.Sprintf("%s, %s, %d", d.name, d.mutation.name, d.number)
}

func (d damageTry) damaged() []byte { return d.mutation.do(d.data, d.mutation.random(d.number)) }

// run damages the file, filters it in a folder of its own, and returns the outcome and the
// messages.
func (d damageTry) run(dir string) (outcome, said string, err error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", "", err
	}
	defer os.RemoveAll(dir)
	in, result := filepath.Join(dir, d.name), "out.mkv"
	if strings.HasPrefix(d.name, "sound-") {
		result = "out.mp4"
	}
	if err := os.WriteFile(in, d.damaged(), 0o600); err != nil {
		return "", "", err
	}
	hang := 60 * time.Second
	args := []string{"-i", in, "-o", filepath.Join(dir, result), "--progress", "json", "-r", "0", "--threads", "1", "--preset", "ultrafast"}
	if e2e.Sanitized {
		hang *= 10
		args = append(args, "--sandbox", "off")
	}
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	cmd := exec.CommandContext(ctx, e2e.Program, args...)
	cmd.Env = append(os.Environ(), "ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1", "UBSAN_OPTIONS=print_stacktrace=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	_ = cmd.Run()
	code, said := cmd.ProcessState.ExitCode(), stderr.String()
	switch left := leftBehind(dir); {
	case ctx.Err() != nil:
		return outcomeHang, said, nil
	case !slices.Contains([]int{0, 3, 4, 6}, code), strings.Contains(said, "goroutine "), strings.Contains(said, "ERROR: AddressSanitizer"):
		return outcomeCrash, said, nil
	case (code == 0 || code == 6) && !slices.Equal(left, []string{result}), (code == 3 || code == 4) && len(left) > 0:
		return outcomeLeft, fmt.Sprintf("%v: %s", left, said), nil
	case code == 6:
		return outcomeDamaged, said, nil
	case code != 0:
		return outcomeRefused, said, nil
	case framesSaid(said) >= d.frames:
		return outcomeWhole, said, nil
	case seedsKept != "":
		return outcomeOpen, said, nil
	case d.looksWhole(in, said):
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

// bareStreams have no index, length or numbers, or are recordings that begin and end anywhere: cut
// at a packet they are whole streams.
var bareStreams = []string{".y4m", ".wtv", ".ts", ".m2ts", ".mpg", ".h264", ".hevc", ".m2v", ".m4v", ".dv", ".h261", ".h263", ".mjpeg", ".obu",
	".ppm", ".pgmyuv", ".png", ".bmp", ".qoi"}

// unchecked are containers without a promise in docs/damage.md.
var unchecked = []string{".apng", ".gxf", ".rm"}

// elementaryStreams are the bare streams without a container.
var elementaryStreams = bareStreams[5:]

// looksWhole reports whether the missing frames cannot be noticed. A bare stream may begin later,
// as recordings do, or ffmpeg decodes it without a message and every remaining picture, except the
// one or two that were cut, is an original, in order. An elementary stream may lose a picture whose
// header changed its kind, and a part of 10 with its parameter sets. An index may hide frames if
// all its packets are there. A file without its beginning may look like another format. Whole units
// may be taken out of a file if the sizes around them are corrected. A clock jump of a broadcast,
// which the program reports, looks like a gap between two recordings. An empty frame of Cinepak
// repeats the previous one. A broadcast picture that is lost whole, while its sound goes on, may
// never have been recorded. IVF counts its frames in its header, to within one, and only the first
// part's where others were appended.
func (d damageTry) looksWhole(in, said string) bool {
	frames := framesSaid(said)
	ending := filepath.Ext(d.name)
	if slices.Contains(unchecked, ending) {
		return true
	}
	bare := slices.Contains(elementaryStreams, ending)
	if bare && (frames == d.frames-1 || strings.HasPrefix(d.name, "join-") && frames%10 == 0) {
		return true
	}
	if d.mutation.name == theBeginningLost && formatOf(in) != formatOf(filepath.Join(e2e.Work, d.name)) {
		return true
	}
	if slices.Contains([]string{".mp4", ".mov", ".3gp"}, ending) && countPackets(in, "-ignore_editlist", "1") == d.frames {
		return true
	}
	if strings.Contains(said, "the clock of the input jumps") && slices.Contains([]string{".ts", ".m2ts", ".mpg"}, ending) {
		return true
	}
	if d.codec == "cinepak" && d.mutation.name == "a picture zeroed" {
		return true
	}
	pictures, said := decodedHashes(in)
	takenOut := strings.HasSuffix(d.mutation.name, " lost") && !strings.HasPrefix(d.mutation.name, "the ")
	if takenOut && said == "" && len(pictures) == frames && countPackets(in) == frames {
		return true
	}
	inTable := strings.Contains(d.mutation.name, "box") || strings.HasPrefix(d.mutation.name, "a number in st")
	if inTable && said == "" && countPackets(in) == frames {
		return true
	}
	if ending == ".ivf" && (frames == d.frames-1 || strings.HasPrefix(d.name, "join-")) {
		return true
	}
	if !slices.Contains(bareStreams, ending) {
		return false
	}
	if d.mutation.name == theBeginningLost || !beginsWithKey(in) {
		return true
	}
	if (ending == ".ts" || ending == ".m2ts") && frames == d.frames-1 {
		return true
	}
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
	return others <= 2
}

func formatOf(path string) string {
	out, _, _ := e2e.Output("ffprobe", "-v", "quiet", "-show_entries", "format=format_name", "-of", "csv=p=0", path)
	return strings.TrimSpace(string(out))
}

// beginsWithKey reports whether the first packet of the video is a key frame.
func beginsWithKey(path string) bool {
	out, _, _ := e2e.Output("ffprobe", "-v", "quiet", "-select_streams", "V:0", "-show_entries", "packet=flags", "-read_intervals", "%+#1", "-of", "csv=p=0", path)
	return strings.HasPrefix(string(out), "K")
}

// countPackets returns the number of the video's packets, -1 if ffprobe reports errors.
func countPackets(path string, args ...string) int {
	args = append(args, "-v", "error", "-count_packets", "-select_streams", "V", "-show_entries", "stream=nb_read_packets", "-of", "csv=p=0", path)
	out, said, _ := e2e.Output("ffprobe", args...)
	n, err := strconv.Atoi(strings.Trim(string(out), ",\n"))
	if err != nil || len(said) > 0 {
		return -1
	}
	return n
}

func decodedHashes(in string) (hashes []string, said string) {
	out, stderr, _ := e2e.Output("ffmpeg", "-v", "error", "-nostdin", "-threads", "1", "-i", in, "-map", "0:V:0", "-fps_mode", "passthrough", "-f", "framemd5", "-")
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "#") {
			hashes = append(hashes, strings.TrimSpace(line[strings.LastIndex(line, ",")+1:]))
		}
	}
	return hashes, string(stderr)
}

// TestRandomDamage damages files in many ways, the same in every run. No try may crash, hang, leave
// files behind or lose frames silently. VIDFILTER_DAMAGE is the number of tries, or a list of tries
// from messages, separated by semicolons. VIDFILTER_DAMAGE_PART=2/3 runs the second third.
// docs/damage.md has the outcomes.
func TestRandomDamage(t *testing.T) {
	tries := 105
	if seedsKept == "" {
		e2e.Start(t, false)
	}
	if s := os.Getenv("VIDFILTER_DAMAGE"); strings.Contains(s, ",") {
		for message := range strings.SplitSeq(strings.Trim(s, "; \n"), ";") {
			oneTry(t, strings.TrimSpace(message))
		}
		return
	} else if s != "" {
		var err error
		if tries, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	work, ways := damageTries(t, tries)
	work = partOf(t, work, os.Getenv("VIDFILTER_DAMAGE_PART"))
	made := time.Since(began).Seconds()
	began = time.Now()
	var odd undefined
	outcomes := runDamaged(t, work, &odd)
	odd.report(t)
	took := time.Since(began).Seconds()
	t.Logf("%d tries of %d kinds of damage, %.1f s for 100, after %.1f s", len(work), ways, took*100/float64(len(work)), made)
	for _, o := range []string{outcomeWhole, outcomeUnseen, outcomeDamaged, outcomeRefused, outcomeOpen, outcomeSilent, outcomeCrash, outcomeHang, outcomeLeft} {
		t.Logf("%5d  %s", outcomes[o], o)
	}
	if outcomes[outcomeDamaged] < len(work)/4 {
		t.Error("the damage is not found, or does not reach the files")
	}
}

// partOf returns the tries of a part: 2/3 is every third, from the second on.
func partOf(t *testing.T, work []damageTry, part string) (some []damageTry) {
	t.Helper()
	if part == "" {
		return work
	}
	var n, of int
	if _, err := fmt.Sscanf(part, "%d/%d", &n, &of); err != nil || n < 1 || n > of {
		t.Fatalf("VIDFILTER_DAMAGE_PART is %q, not like 2/3", part)
	}
	for i := n - 1; i < len(work); i += of {
		some = append(some, work[i])
	}
	return some
}

// damageTries spreads tries over the seeds, at least three for each. Every seed gets its mutations
// in turn. Seeds that change in mid-stream are also tried undamaged.
func damageTries(t *testing.T, tries int) (work []damageTry, ways int) {
	seeds := damageSeeds[:min(len(damageSeeds), tries/3)]
	kinds := map[string]bool{}
	for i, seed := range seeds {
		w := wholeSeed(t, seed)
		n := tries*(i+1)/len(seeds) - tries*i/len(seeds)
		order := rand.New(rand.NewPCG(uint64(i), 0)).Perm(len(w.mutations))
		for round := range n {
			d := damageTry{w, w.mutations[order[round%len(order)]], uint64(round)}
			if round == 0 && strings.HasPrefix(seed, "join-") {
				d.mutation = unchanged
			}
			work, kinds[d.mutation.name] = append(work, d), true
		}
	}
	for _, o := range onceSilent {
		work = append(work, findTry(t, o))
	}
	return work, len(kinds)
}

var unchanged = mutation{"unchanged", func(b []byte, _ *rand.Rand) []byte { return b }}

// onceSilent are tries beyond the short run's that lost frames in silence before, or hung.
var onceSilent = []string{
	"h264.nut, 1 % set, 88",
	"h264.nut, 64 bytes zeroed, 3",
	"h264.avi, a picture with another's content, 1",
	"h264-444.mkv, an element renamed, 18",
	"huffyuv.avi, a chunk shortened, 12",
	"wmv2.wmv, blocks exchanged, 68",
	"vfr-fragments.mp4, a box zeroed, 20",
	"bare.mjpeg, 10 % cut out, 63",
	"pictures.ppm, a byte cut out, 8",
	"sound-adpcm.avi, a number in strh changed, 22",
}

// findTry returns the try of a message: its seed, its mutation and its number.
func findTry(t *testing.T, message string) damageTry {
	t.Helper()
	name, rest, _ := strings.Cut(message, ", ")
	at := strings.LastIndex(rest, ", ")
	number, err := strconv.ParseUint(rest[at+2:], 10, 64)
	e2e.Must(t, err)
	w := wholeSeed(t, name)
	all := append(w.mutations, unchanged)
	i := slices.IndexFunc(all, func(m mutation) bool { return m.name == rest[:at] })
	if i < 0 {
		t.Fatalf("%s has no mutation %q", name, rest[:at])
	}
	return damageTry{w, all[i], number}
}

// oneTry shows the outcome of a try and keeps the damaged file.
func oneTry(t *testing.T, message string) {
	t.Helper()
	d := findTry(t, message)
	outcome, said, err := d.run(filepath.Join(t.TempDir(), "try"))
	say := t.Logf
	if err != nil || slices.Contains(badOutcomes, outcome) {
		say = t.Errorf
	}
	say("%v: %s: %v %s\nthe file is %s", d, outcome, err, said, keep(t, d.name, d.damaged()))
}

// runDamaged makes the tries and counts the outcomes. Bad ones are errors.
func runDamaged(t *testing.T, work []damageTry, odd *undefined) map[string]int {
	t.Helper()
	outcomes := map[string]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	next := make(chan int)
	for range runtime.NumCPU() {
		all.Go(func() {
			for i := range next {
				outcome, said, err := work[i].run(filepath.Join(t.TempDir(), strconv.Itoa(i)))
				odd.add(work[i], said)
				mu.Lock()
				if outcomes[outcome]++; err != nil || slices.Contains(badOutcomes, outcome) {
					t.Errorf("%v: %s: %v %s", work[i], outcome, err, said)
				} else if outcome == outcomeOpen {
					t.Logf("again: %v;", work[i])
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
