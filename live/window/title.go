package window

import (
	"fmt"
	"strings"

	"vidfilter/kernels"
	"vidfilter/live"
)

// heading is the constant part of the title.
func heading(name string, st live.State, v view) string {
	head := name
	if st.Width > 0 {
		head += fmt.Sprintf(" %dx%d", st.Width, st.Height)
	}
	head += " - " + summary(st.Filter)
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

// summary lists the options with keys, and names other than the default.
func summary(f live.Filter) string {
	if f.Off {
		return "off"
	}
	var all []string
	for _, o := range kernels.Options() {
		switch d, ok := o.In(f.Filter); {
		case !ok:
		case d.Keys != kernels.NoKeys:
			all = append(all, fmt.Sprintf("%s %.3g", o.Name, o.Get(f.Params)))
		case o.Kind == kernels.Name && !o.IsDefault(f.Params):
			all = append(all, o.Text(f.Params))
		}
	}
	return strings.Join(all, ", ")
}
