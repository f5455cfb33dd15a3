package video

import (
	"cmp"
	"slices"
	"strings"

	"vidfilter/encode/side"
	"vidfilter/encode/spec"
	"vidfilter/internal/av"
	"vidfilter/internal/fidelity"
	"vidfilter/internal/units"
	"vidfilter/pipeline"
)

// changes follows what pictures say of the video, of which the stream has one for all.
type changes struct {
	*encoder
	stated fidelity.Stated
	told   []string // keys of properties whose change was named
}

// headed are the properties that the headers of H.264 and HEVC have, where those are repeated.
var headed = strings.Fields("primaries transfer chroma_location sample_aspect")

// inUnits are properties that units of pictures have.
var inUnits = map[string]units.Kind{
	"mastering_display": units.MasteringDisplay, "content_light": units.ContentLight, "ambient": units.AmbientViewing, "stereo": units.FramePacking,
}

// follow reports whether a frame says so much else of the video that it needs an encoder of
// its own. Where the output has one for all frames, it names the change, once.
func (c *changes) follow(f *pipeline.Frame, carrier *side.Carrier) (anew bool) {
	props := av.FrameProps(f)
	if props == nil || c.IsPicture() {
		return false
	}
	codec := c.about
	repeats := !c.globalHeader && codec.headers != nil && codec.OnDevice == "" && !carrier.Grained()
	for _, is := range c.stated.Follow(av.FormatPtr(c.In.Context), av.StreamPtr(c.In.Video), props, f.Video) {
		kind := inUnits[is.Key]
		switch {
		case kind != 0 && carrier.Carries(kind), is.Key == "stereo" && codec.Name == spec.X264: // which codes it with each picture
		case repeats && slices.Contains(headed, is.Key):
			anew = true
		case !slices.Contains(c.told, is.Key):
			c.told = append(c.told, is.Key)
			c.Told.Add(fidelity.Video, "", is.Key)
			c.Warn("the pictures change their %s from %s to %s,%s; the output has one for all, that of the first",
				is.Name, cmp.Or(is.From, none(is.Key)), cmp.Or(is.To, none(is.Key)), c.since(f))
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
