package contract

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"vidfilter/internal/e2e"
)

// Whatever one process writes, the other reads back.
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
