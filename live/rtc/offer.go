package rtc

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/pion/sdp/v3"
	"github.com/pion/webrtc/v4"
)

// refusal is an answer to a request that cannot be met.
type refusal struct {
	code     int
	sentence string
}

func (r refusal) Error() string { return r.sentence }

func refuse(code int, format string, args ...any) error {
	return refusal{code, fmt.Sprintf(format, args...)}
}

const (
	mostMedia      = 16 // sections of an offer
	mostCandidates = 64 // limits the addresses to try for a peer
)

// offer is a peer's parsed SDP offer.
type offer struct {
	sdp    string   // as pion gets it
	loose  bool     // its sections are not bundled
	video  []format // H.264, in the peer's order
	sends  bool     // it sends video
	accept bool     // it takes video
	audio  *audio   // nil: unavailable with the video
	used   *audio   // nil: unavailable

	description sdp.SessionDescription
	mid         string // of the video

	candidates int
}

// format is one way to send H.264, or Opus.
type format struct {
	payload webrtc.PayloadType
	fmtp    string // as the peer gave it
	profile byte   // of H.264: profile_idc, 66 by default
	mode    string // of H.264: packetization-mode, "" if absent
}

// audio is a section of Opus.
type audio struct {
	format
	mid           string
	sends, accept bool
}

// highProfile is the default profile_idc of preview.Encoder.
const highProfile = 100

func parseOffer(body []byte) (offer, error) {
	o := offer{sdp: string(body)}
	var d sdp.SessionDescription
	if err := d.UnmarshalString(o.sdp); err != nil {
		return o, refuse(http.StatusBadRequest, "that is no SDP: %s", printable(err.Error()))
	}
	if n := len(d.MediaDescriptions); n == 0 || n > mostMedia {
		return o, refuse(http.StatusBadRequest, "an offer with %d media sections", n)
	}
	video := false
	var sound *audio
	o.countCandidates(d.Attributes)
	for _, m := range d.MediaDescriptions {
		o.countCandidates(m.Attributes)
		switch m.MediaName.Media {
		case "audio":
			if sound == nil {
				sound = opusSection(m, &d)
			}
		case "video":
			video = true
			if found := h264Formats(m); len(o.video) == 0 && len(found) > 0 {
				o.video = found
				o.sends, o.accept = directions(m, &d)
				o.mid, _ = m.Attribute("mid")
			}
		default:
			return o, refuse(http.StatusNotAcceptable, "only video is here: leave data channels out of the offer")
		}
	}
	switch {
	case o.candidates > mostCandidates:
		return o, refuse(http.StatusBadRequest, "an offer with %d candidates", o.candidates)
	case !video:
		return o, refuse(http.StatusNotAcceptable, "the offer has no video")
	case len(o.video) == 0:
		return o, refuse(http.StatusNotAcceptable, "the offer has no H.264, which is all that is spoken here")
	}
	o.description = d
	if sound != nil && bundled(&d, o.mid, sound.mid) {
		o.audio = sound
	}
	return o, o.use(false)
}

// use prepares the offer for pion, with the video and perhaps the audio.
func (o *offer) use(sound bool) error {
	d := o.description
	mids := o.mid
	if o.used = nil; sound {
		o.used = o.audio
		mids = inOrder(&d, o.mid, o.audio.mid)
	}
	o.loose = bundle(&d, mids)
	b, err := d.Marshal()
	o.sdp = string(b)
	return err
}

// bundled reports whether two sections are to go over one connection.
func bundled(d *sdp.SessionDescription, a, b string) bool {
	for _, x := range d.Attributes {
		if all := strings.Fields(x.Value); x.Key == "group" && len(all) > 0 && all[0] == "BUNDLE" {
			return a != b && slices.Contains(all[1:], a) && slices.Contains(all[1:], b)
		}
	}
	return false
}

// inOrder names two sections as they come.
func inOrder(d *sdp.SessionDescription, a, b string) string {
	for _, m := range d.MediaDescriptions {
		if mid, _ := m.Attribute("mid"); mid == b {
			return b + " " + a
		} else if mid == a {
			break
		}
	}
	return a + " " + b
}

// countCandidates counts the candidates of a session or a section.
func (o *offer) countCandidates(all []sdp.Attribute) {
	for _, a := range all {
		if a.Key == "candidate" {
			o.candidates++
		}
	}
}

// bundle reduces an offer's bundles to the sections in use, and reports whether there was no
// bundle. pion refuses sections outside of bundles, sees the first group only, and takes the
// credentials of the first section, which may be a refused one.
func bundle(d *sdp.SessionDescription, mids string) (loose bool) {
	kept := []sdp.Attribute{{Key: "group", Value: "BUNDLE " + mids}}
	loose = true
	for _, a := range d.Attributes {
		switch {
		case a.Key != "group":
			kept = append(kept, a)
		case strings.HasPrefix(a.Value, "BUNDLE"):
			loose = false
		}
	}
	d.Attributes = kept
	return loose
}

// printable makes a stranger's text safe to repeat, and short.
func printable(s string) string {
	const enough = 200
	s = strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return ' '
		}
		return c
	}, s)
	return s[:min(len(s), enough)]
}

// directions reports whether a peer sends, and receives, the media of a section.
func directions(m *sdp.MediaDescription, d *sdp.SessionDescription) (sends, accept bool) {
	for _, all := range [][]sdp.Attribute{m.Attributes, d.Attributes} {
		for _, a := range all {
			switch a.Key {
			case "sendrecv":
				return true, true
			case "sendonly":
				return true, false
			case "recvonly":
				return false, true
			case "inactive":
				return false, false
			}
		}
	}
	return true, true
}

// payloads returns the formats of a section with a codec.
func payloads(m *sdp.MediaDescription, codec string) (all []format) {
	fmtps := map[string]string{}
	for _, a := range m.Attributes {
		if pt, line, ok := strings.Cut(a.Value, " "); ok && a.Key == "fmtp" {
			fmtps[pt] = line
		}
	}
	for _, a := range m.Attributes {
		pt, name, _ := strings.Cut(a.Value, " ")
		n, err := strconv.ParseUint(pt, 10, 7)
		if a.Key == "rtpmap" && err == nil && strings.EqualFold(strings.TrimSpace(name), codec) {
			all = append(all, format{payload: webrtc.PayloadType(n), fmtp: fmtps[pt]})
		}
	}
	return all
}

func h264Formats(m *sdp.MediaDescription) []format {
	all := payloads(m, "H264/90000")
	for i := range all {
		f := &all[i]
		f.profile = 66
		for p := range strings.SplitSeq(f.fmtp, ";") {
			key, value, _ := strings.Cut(strings.TrimSpace(p), "=")
			switch strings.ToLower(key) {
			case "packetization-mode":
				f.mode = value
			case "profile-level-id":
				if b, err := strconv.ParseUint(value, 16, 24); err == nil && len(value) == 6 {
					f.profile = byte(b >> 16)
				}
			}
		}
	}
	return all
}

// opusSection returns a section of Opus, or nil.
func opusSection(m *sdp.MediaDescription, d *sdp.SessionDescription) *audio {
	found := payloads(m, "opus/48000/2")
	if len(found) == 0 {
		return nil
	}
	a := &audio{format: found[0]}
	a.mid, _ = m.Attribute("mid")
	a.sends, a.accept = directions(m, d)
	return a
}

// toSend chooses the player's format: the profile that needs fewest bits, else the one that all
// decoders support. Mode 0 is out: it puts each unit in a single packet, too small for a picture.
func (o offer) toSend() (chosen format, baseline bool, err error) {
	rank := func(f format) int {
		switch {
		case f.mode == "1" && f.profile == highProfile:
			return 3
		case f.mode == "1":
			return 2
		case f.mode == "":
			return 1
		}
		return 0
	}
	best := 0
	for _, f := range o.video {
		if r := rank(f); r > best {
			chosen, best = f, r
		}
	}
	switch {
	case !o.accept:
		return chosen, false, refuse(http.StatusNotAcceptable, "the offer takes no video: this is for players, /whip is for cameras")
	case best == 0:
		return chosen, false, refuse(http.StatusNotAcceptable, "the offer has no H.264 of packetization-mode 1")
	}
	return chosen, best < 3, nil
}

// toReceive returns the formats for a camera: its own choice, since all that it may offer can be
// decoded.
func (o offer) toReceive() ([]format, error) {
	if !o.sends {
		return nil, refuse(http.StatusNotAcceptable, "the offer sends no video: this is for cameras, /whep is for players")
	}
	return o.video, nil
}
