package contract

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"testing"

	"vidfilter/internal/e2e"
)

// A message between processes is read back as written.
func TestDoneRoundTrip(t *testing.T) {
	psnr, equal := Number(40.5), Number(math.Inf(1))
	d := Done{
		Type: TypeDone, ExitCode: ExitOutput, Error: "disk full", Cause: CauseNoSpace, Frame: 7, Size: 9, Unverified: true,
		PSNR: &psnr, SSIM: &equal, Warnings: []string{"w"}, Damage: map[string]int64{"x": 1},
	}
	b, err := json.Marshal(d)
	e2e.Must(t, err)
	var got Done
	e2e.Must(t, json.Unmarshal(b, &got))
	d.SSIM = nil // written as null
	if !reflect.DeepEqual(got, d) {
		t.Errorf("%s\nreads as %+v", b, got)
	}
}

// No time gives no speed, and no infinite one, which JSON cannot hold.
func TestOutcomeIn(t *testing.T) {
	for seconds, fps := range map[float64]float64{0: 0, 1e-320: 0, 4: 2.5} {
		if o := (Outcome{Frames: 10, FPS: 1}).In(seconds); o.Seconds != seconds || o.FPS != fps {
			t.Errorf("in %g s: %+v", seconds, o)
		}
	}
}

// Parts of a video count by their frames.
func TestNoiseOfParts(t *testing.T) {
	a, b := &Noise{Luma: 2, Chroma: 1, Least: 1, Most: 3, Clean: 1}, &Noise{Luma: 8, Chroma: 4, Least: 2, Most: 9, Clean: 2}
	want := Noise{Luma: 6, Chroma: 3, Least: 1, Most: 9, Clean: 3}
	if got := a.With(10, b, 20); *got != want {
		t.Errorf("%+v, want %+v", *got, want)
	}
	var none *Noise
	if none.With(0, a, 10) != a || a.With(10, nil, 5) != a || none.With(3, none, 3) != nil {
		t.Error("what is not known counts")
	}
}

func TestFilters(t *testing.T) {
	for kind, want := range map[string]bool{TaskPlan: false, TaskCut: false, TaskPart: true, TaskWhole: true, TaskJoin: false, "": false} {
		if Filters(kind) != want {
			t.Errorf("Filters(%q) = %v", kind, !want)
		}
	}
}

// A difference names its item, and only a loss that was not announced counts.
func TestDifferences(t *testing.T) {
	all := []Difference{
		{Item: "video", Property: "depth", From: "10 bits", To: "8 bits", Lost: true},
		{Item: "tag title", Property: "value", From: "Film", To: "Clip", Lost: true},
		{Item: "chapter 1", From: "0.000 s, One", Lost: true},
		{Item: "stream 2", Property: "codec", From: "subrip", To: "mov_text", Lost: true, Told: true},
		{Item: "stream 4", To: "data, bin_data"},
	}
	want := []string{"depth of video: 10 bits becomes 8 bits", "tag title: Film becomes Clip", "chapter 1: 0.000 s, One is missing"}
	if got := Losses(all); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := all[4].String(); got != "stream 4: data, bin_data is new" {
		t.Error(got)
	}
}
