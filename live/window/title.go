package window

import (
	"fmt"

	"vidfilter/live"
)

// heading is the constant part of the title.
func heading(name string, st live.State, v view) string {
	head := name
	if st.Width > 0 {
		head += fmt.Sprintf(" %dx%d", st.Width, st.Height)
	}
	head += " - " + st.Filter.Words()
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
