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

func TestFilters(t *testing.T) {
	for kind, want := range map[string]bool{TaskPlan: false, TaskCut: false, TaskPart: true, TaskWhole: true, TaskJoin: false, "": false} {
		if Filters(kind) != want {
			t.Errorf("Filters(%q) = %v", kind, !want)
		}
	}
}
