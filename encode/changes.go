package encode

import (
	"cmp"
	"slices"
	"strings"

	"vidfilter/internal/av"
	"vidfilter/internal/fidelity"
	"vidfilter/internal/units"
	"vidfilter/pipeline"
)

// changes follows what pictures say of the video, of which the stream has one for all.
type changes struct {
	stated fidelity.Stated
	told   []string // keys of properties whose change was named
}

// follow has the coder go on with a frame that may differ from those before in what its encoder has
// once for all.
func (e *coder) follow(f *pipeline.Frame) error {
	anew, err := e.followFields(f)
	if err == nil && e.followChanges(f) || anew {
		return e.reopen(f)
	}
	return err
}

// headed are the properties that the headers of H.264 and HEVC have, where those are repeated.
var headed = strings.Fields("primaries transfer chroma_location sample_aspect")

// inUnits are properties that units of pictures have.
var inUnits = map[string]units.Kind{
	"mastering_display": units.MasteringDisplay, "content_light": units.ContentLight, "ambient": units.AmbientViewing, "stereo": units.FramePacking,
}

// followChanges reports whether a frame says so much else of the video that it needs an encoder of
// its own. Where the output has one for all frames, it names the change, once.
func (e *coder) followChanges(f *pipeline.Frame) (anew bool) {
	props := av.FrameProps(f)
	if props == nil || e.isPicture() {
		return false
	}
	codec := e.opts.codec()
	repeats := !e.globalHeader && codec.headers != nil && codec.OnDevice == "" && e.grain == nil
	for _, c := range e.changes.stated.Follow(av.FormatPtr(e.in.Context), av.StreamPtr(e.in.Video), props, f.Video) {
		kind := inUnits[c.Key]
		switch {
		case kind != 0 && e.carrier.carries(kind), c.Key == "stereo" && codec.Name == X264: // which codes it with each picture
		case repeats && slices.Contains(headed, c.Key):
			anew = true
		case !slices.Contains(e.changes.told, c.Key):
			e.changes.told = append(e.changes.told, c.Key)
			e.told.Add(fidelity.Video, "", c.Key)
			e.warn("the pictures change their %s from %s to %s,%s; the output has one for all, that of the first",
				c.Name, cmp.Or(c.From, none(c.Key)), cmp.Or(c.To, none(c.Key)), e.since(f))
		}
	}
	return anew
}

// none is what the lack of a value means.
func none(key string) string {
	if key == "sample_aspect" {
		return "1:1"
	}
	return "none"
}
