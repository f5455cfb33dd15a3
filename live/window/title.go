package window

import (
	"fmt"

	"vidfilter/kernels"
	"vidfilter/live"
)

// heading is the part of the title that stays the same from second to second.
func heading(name string, st live.State, v view) string {
	f := st.Filter
	head := name
	if st.Width > 0 {
		head += fmt.Sprintf(" %dx%d", st.Width, st.Height)
	}
	if f.Filter == kernels.Recursive.String() {
		head += fmt.Sprintf(" - recursive, sigma-s %.3g, sigma-r %.3g", f.SigmaS, f.SigmaR)
	} else {
		head += fmt.Sprintf(" - radius %d, sigma-r %.3g, %s", f.Radius, f.SigmaR, f.Range)
	}
	switch v.mode {
	case original:
		head += " - original"
	case filtered:
		head += " - filtered"
	case apart:
		head += fmt.Sprintf(" - difference x%d", gain)
	}
	switch {
	case st.Status != live.Live && st.Message != "":
		head += " - " + st.Message
	case st.Status != live.Live:
		head += " - " + string(st.Status)
	case st.Frozen:
		head += " - frozen"
	}
	return head
}
