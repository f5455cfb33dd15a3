package status

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unsafe"

	"vidfilter/batch/queue"
	"vidfilter/batch/tally"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// sumOf returns the frames and jobs of a chart.
func sumOf(s Series) (frames float64, done int64) {
	for i := range s.FPS {
		frames += s.FPS[i] * float64(s.Step)
		done += s.Done[i]
	}
	return frames, done
}

// A chart has each whole minute of the last hour, and 24 minutes of the last day, in order.
func TestHistory(t *testing.T) {
	h := newHistory()
	for s := range 3 * 3600 { // 10 frames per second, a job a minute
		now := noon.Add(time.Duration(s) * time.Second)
		var done time.Time
		if s%60 == 30 {
			done = now
		}
		h.add(now, int64(10*(s+1)), done)
	}
	v := h.view(noon.Add(3 * time.Hour))
	if f, d := sumOf(v.Hour); f != 36000 || d != 60 || v.Hour.FPS[0] != 10 || v.Hour.FPS[steps-1] != 10 || v.Hour.Until != noon.Add(3*time.Hour) {
		t.Errorf("hour: %v frames, %d jobs: %+v", f, d, v.Hour)
	}
	if len(v.Day.FPS) != steps || v.Day.FPS[steps-1] == 0 || v.Day.FPS[0] != 0 || v.Day.Step != 24*60 {
		t.Errorf("day: %+v", v.Day)
	}
	if want := "36000 frames in the last hour, at most 10.0 per second"; v.Hour.Words[0] != want || v.Hour.Words[1] != "60 jobs done in the last hour" {
		t.Errorf("%q", v.Hour.Words)
	}
	if f, d := sumOf(h.view(noon.Add(3*time.Hour + 30*time.Minute)).Hour); f != 18000 || d != 30 {
		t.Errorf("half an hour later: %v, %d", f, d)
	}
	if f, d := sumOf(h.view(noon.Add(300 * time.Hour)).Day); f != 0 || d != 0 {
		t.Errorf("days later: %v, %d", f, d)
	}
	if n := unsafe.Sizeof(h); n > 4096 {
		t.Errorf("a history has %d bytes", n)
	}
}

// Jobs count at the time of their end, also those that ended before the program began. A clock that
// jumps neither loses later work nor keeps work of the future.
func TestHistoryOfClocks(t *testing.T) {
	h := newHistory()
	h.add(noon, 0, noon.Add(-10*time.Minute))
	h.add(noon, 0, noon.Add(-10*time.Hour))
	h.add(noon, 0, noon.Add(-100*time.Hour))
	h.add(noon, 0, noon.Add(time.Hour))
	v := h.view(noon.Add(time.Minute))
	if _, d := sumOf(v.Hour); d != 1 || v.Hour.Done[steps-11] != 1 {
		t.Errorf("hour: %v", v.Hour.Done)
	}
	if _, d := sumOf(v.Day); d != 2 {
		t.Errorf("day: %v", v.Day.Done)
	}
	h.add(noon.Add(1000*time.Hour), 600, time.Time{})
	h.add(noon, 1200, time.Time{})
	h.add(noon.Add(time.Minute), 1200, time.Time{})
	if f, d := sumOf(h.view(noon.Add(time.Minute)).Hour); f != 600 || d != 0 {
		t.Errorf("after a jump: %v frames, %d jobs", f, d)
	}
}

// The page counts each finished job once, whether it saw its work or not, and forgets removed ones.
func TestHistoryOfJobs(t *testing.T) {
	s := newSite(t, Options{})
	ended := time.Now().Add(-5 * time.Minute)
	done := job("d1-b1", queue.Done)
	done.Ended = ended
	for _, j := range []queue.Status{done, done, job("d2-b1", queue.Running), job("waits", queue.Queued)} {
		s.f.say <- j
	}
	var h History
	_, body := s.ask("GET", "/api/history")
	if err := json.Unmarshal([]byte(body), &h); err != nil {
		t.Fatal(err, body)
	}
	if _, d := sumOf(h.Hour); d != 1 {
		t.Errorf("%v", h.Hour.Done)
	}
	if _, page := s.ask("GET", "/"); !strings.Contains(page, "1 job done in the last hour") || !strings.Contains(page, "0 frames in the last hour") {
		t.Error("no words for the charts in the page")
	}
	r := s.stream("/events")
	for e, data := nextEvent(t, r); e != "history"; e, data = nextEvent(t, r) {
		if e == "jobs" && !strings.Contains(string(data), "d1-b1") {
			t.Errorf("%s", data)
		}
	}
	s.f.say <- queue.Status{Job: queue.Job{ID: "d1-b1"}, State: queue.Removed}
	e, _ := nextEvent(t, r)
	for ; e != "start"; e, _ = nextEvent(t, r) {
	}
	var jobs struct{ Jobs []tally.Job }
	_, data := nextEvent(t, r)
	if err := json.Unmarshal(data, &jobs); err != nil || len(jobs.Jobs) != 5 || strings.Contains(string(data), "d1-b1") {
		t.Errorf("%v: %s", err, data)
	}
	if code, _ := s.ask("GET", "/api/jobs/d1-b1"); code != 404 {
		t.Errorf("a removed job: %d", code)
	}
}
