package decode

import (
	"slices"
	"testing"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
)

// feedOf plays packets of a program with a video and a sound, as they are read.
type feedOf struct {
	c            clock
	video, sound *streamClock
	queue        []*queuedPacket
}

func newFeed() *feedOf {
	p := &programClock{offsets: []int64{0}}
	f := &feedOf{video: &streamClock{program: p, kind: astiav.MediaTypeVideo}, sound: &streamClock{program: p, kind: astiav.MediaTypeAudio}}
	f.c = clock{jumpy: true, main: p, streams: map[int]*streamClock{0: f.video, 1: f.sound}, programs: map[int]*programClock{1: p}}
	return f
}

// recording adds a second and more of pictures of 40 ms and sound of 24 ms, in microseconds.
func (f *feedOf) recording(begin, pictures, sound int64, marked bool) {
	const ms = 1000
	for i := range pictures {
		f.queue = append(f.queue, &queuedPacket{clock: f.video, at: begin + i*40*ms, exact: true, pts: begin + (i+2)*40*ms, length: 40 * ms,
			pos: int64(len(f.queue)), key: i == 0, marked: marked && i == pictures-1, epoch: -1})
		for j := range sound {
			if t := j * 24 * ms; t >= i*40*ms && t < (i+1)*40*ms || i == pictures-1 && t >= pictures*40*ms {
				f.queue = append(f.queue, &queuedPacket{clock: f.sound, at: begin + 5*ms + t, exact: true, pts: begin + 5*ms + t, length: 24 * ms,
					pos: int64(len(f.queue)), epoch: -1})
			}
		}
	}
}

// play returns the first offset of each recording, by stream, and how many packets are marked.
func (f *feedOf) play(t *testing.T) (video, sound []int64, marked int) {
	t.Helper()
	for len(f.queue) > 0 {
		e := f.queue[0]
		if f.c.doubtful(e) {
			f.c.judge(f.queue)
		}
		f.queue = f.queue[1:]
		if e.marked {
			marked++
		}
		offset, list := f.c.take(e), &video
		if e.clock == f.sound {
			list = &sound
		}
		if n := len(*list); n == 0 || (*list)[n-1] != offset {
			*list = append(*list, offset)
		}
	}
	return video, sound, marked
}

// Where recordings are joined, all streams of a program take the same offset, and no stream
// overlaps.
func TestJoins(t *testing.T) {
	const ms = 1000
	// The first recording has pictures for 2 s, decoded from 0 on, and sound from 5 ms to 2.045 s.
	for _, c := range []struct {
		name   string
		begin  int64 // of the second
		want   int64 // its offset
		joints int
	}{
		{"far behind", 500 * second, 2040*ms - 500*second, 1},
		{"before", -30 * second, 2040*ms + 30*second, 1},
		{"overlap of 700 ms", 1300 * ms, 740 * ms, 1},
		{"of 300 ms", 1700 * ms, 340 * ms, 1},
		{"of 100 ms", 1900 * ms, 140 * ms, 1},
		{"of 50 ms", 1950 * ms, 90 * ms, 1},
		{"of the sound alone", 1980 * ms, 60 * ms, 1},
		{"a pause", 5 * second, 0, 0},
	} {
		f := newFeed()
		f.recording(0, 50, 85, false)
		f.recording(c.begin, 50, 85, false)
		want := []int64{0, c.want}
		if c.want == 0 {
			want = want[:1]
		}
		video, sound, _ := f.play(t)
		if !slices.Equal(video, want) || !slices.Equal(sound, want) {
			t.Errorf("%s: offsets of pictures %v, of sound %v, instead of %v", c.name, video, sound, want)
		}
		if len(f.c.joints) != c.joints {
			t.Errorf("%s: %d joints", c.name, len(f.c.joints))
		}
	}
}

// A long pause of one stream while the other goes on is no joint, and a packet without a time is
// ignored.
func TestPauseOfSound(t *testing.T) {
	f := newFeed()
	f.recording(0, 50, 85, false)
	f.recording(2*second, 500, 0, false)
	f.recording(22*second, 50, 85, false)
	f.queue = append(f.queue, &queuedPacket{clock: f.video, at: av.NoPTS, pts: av.NoPTS, epoch: -1})
	video, sound, _ := f.play(t)
	if !slices.Equal(video, []int64{0}) || !slices.Equal(sound, []int64{0}) || len(f.c.joints) != 0 {
		t.Errorf("offsets %v and %v, %d joints", video, sound, len(f.c.joints))
	}
}

// Where recordings are joined, a packet that is marked for its counter is not damaged. Elsewhere it
// is.
func TestMarksOfJoints(t *testing.T) {
	for begin, want := range map[int64]int{2 * second: 0, 500 * second: 0, 3 * second: 1} {
		f := newFeed()
		f.recording(0, 50, 83, true)
		f.recording(begin, 50, 83, false)
		if _, _, marked := f.play(t); marked != want {
			t.Errorf("the second begins at %d ms: %d packets are damaged instead of %d", begin/1000, marked, want)
		}
	}
	f := newFeed()
	f.recording(0, 50, 83, false)
	f.queue[20].marked = true
	if _, _, marked := f.play(t); marked != 1 {
		t.Errorf("in the midst: %d packets are damaged", marked)
	}
}

// A program with another clock begins when the main program has come as far.
func TestClocksOfPrograms(t *testing.T) {
	const ms = 1000
	for begin, want := range map[int64]int64{5000 * second: 1960*ms - 5000*second, 4 * second: 0} {
		f := newFeed()
		f.recording(0, 50, 0, false)
		f.play(t)
		other := &queuedPacket{clock: &streamClock{program: &programClock{}, kind: f.sound.kind}, at: begin, exact: true, pts: begin, epoch: -1}
		if got := f.c.take(other); got != want {
			t.Errorf("from %d ms: moved by %d ms instead of %d", begin/ms, got/ms, want/ms)
		}
	}
}
