package web

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"time"

	"vidfilter/live"
	"vidfilter/live/access"
	"vidfilter/live/preview"
)

// The socket, version 1. Text messages are JSON objects with a "type"; both sides ignore unknown
// ones. Times are milliseconds.
//
// A page begins with hello. It acknowledges each picture when it is drawn, since only a few may be
// in flight. It may choose one picture of the pair, ask for sound and key frames, and measure
// pictures. With control it may also set the filter, compare two settings, freeze the picture,
// measure noise, move in a file, record, remove viewers, and send its own camera, whose pictures
// are acknowledged as well. The server sends its state when it changes, a configuration before the
// first picture that needs it, pictures, sound, and figures every second.
//
// While two settings are compared, the original is side A's picture and the filtered one side B's.
const version = 1

const (
	maxText   = 8 << 10
	maxBinary = 4 << 20
)

// message is any text message of a page.
type message struct {
	Type    string         `json:"type"`
	Version int            `json:"version"` // hello
	Video   string         `json:"video"`   // hello: avc or jpeg
	View    string         `json:"view"`    // hello, view: both, original or filtered
	ID      uint32         `json:"id"`      // ack
	Wait    float64        `json:"wait"`    // ack: from the picture's arrival to when it was drawn
	Filter  map[string]any `json:"filter"`  // set: the options to change
	On      bool           `json:"on"`      // freeze, sound, camera
	Guest   int64          `json:"guest"`   // kick
	T       float64        `json:"t"`       // ping
	Do      string         `json:"do"`      // record: start, pause, resume or stop; compare: on, off, a, b or copy; noise: box or each
	At      float64        `json:"at"`      // seek: seconds; step: its direction
	From    float64        `json:"from"`    // repeat: seconds
	To      float64        `json:"to"`      // repeat
	X       float64        `json:"x"`       // measure: part of the width of the picture as it is stored
	Y       float64        `json:"y"`       // measure
	Width   float64        `json:"width"`   // noise: the box from X and Y on, in the same parts
	Height  float64        `json:"height"`  // noise
	FPS     float64        `json:"fps"`     // camera
	Codec   string         `json:"codec"`   // camera
	Sound   bool           `json:"sound"`   // camera: Opus comes as well
	Error   string         `json:"error"`   // camera
}

// The messages that every page may send, and those that need control.
var (
	looking     = []string{"hello", "ack", "key", "ping", "view", "sound", "measure"}
	controlling = []string{"set", "compare", "freeze", "restart", "record", "seek", "step", "repeat", "camera", "kick", "noise"}
)

var errTooLong = errors.New("a message is too long")

// badMessage is an error in a message that our page would not send.
type badMessage struct{ error }

// parseMessage returns an empty Type for messages of unknown types, whatever their fields.
func parseMessage(b []byte) (m message, err error) {
	if len(b) > maxText {
		return m, errTooLong
	}
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return m, badMessage{err}
	}
	if !slices.Contains(looking, head.Type) && !slices.Contains(controlling, head.Type) {
		return m, nil
	}
	if err := json.Unmarshal(b, &m); err != nil {
		return m, badMessage{err}
	}
	m.FPS = within(m.FPS, 0, 1000)
	m.Wait = within(m.Wait, 0, 1e6)
	return m, nil
}

func within(x, low, high float64) float64 {
	if math.IsNaN(x) {
		return low
	}
	return min(max(x, low), high)
}

// cameraPart is a picture of a page's camera, or a packet of its sound.
type cameraPart struct {
	kind  byte
	id    uint32
	stamp float64
	data  []byte
}

// The kinds of a page's binary messages.
const (
	partPicture = 1
	partSound   = 2
)

const cameraHeader = 16 // kind, flags, 2 bytes of 0, id, time of capture

func parsePart(b []byte) (p cameraPart, err error) {
	if len(b) <= cameraHeader || b[0] != partPicture && b[0] != partSound {
		return p, badMessage{errors.New("a binary message that is neither picture nor sound")}
	}
	p.kind = b[0]
	p.id = binary.LittleEndian.Uint32(b[4:])
	p.stamp = math.Float64frombits(binary.LittleEndian.Uint64(b[8:]))
	p.data = b[cameraHeader:]
	const soon = 1e14 // the year 5138
	if !(p.stamp >= 0 && p.stamp < soon) {
		return p, badMessage{errors.New("a picture or sound of no time")}
	}
	return p, nil
}

// The kinds and flags of binary messages to a page.
const (
	kindPicture = 1
	kindSound   = 4 // a packet of Opus, or none with flagBegins

	flagBegins = 1 // of sound: what has not been played is not to be played

	flagKey      = 1
	flagForeign  = 2 // the stamp is by the page's own clock
	flagRepeated = 4 // not a new picture: its stamp does not measure latency
	flagCompared = 8 // the pictures are those of two settings
)

const binaryHeader = 32

// header begins a binary message.
type header struct {
	kind, flags byte
	id          uint32
	stamp       float64       // of a picture: milliseconds of Unix time
	at          time.Duration // on the clock of the sound
}

// append appends the header, with the time of sending.
func (h header) append(b []byte) []byte {
	b = append(b, h.kind, h.flags, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, h.id)
	for _, x := range []float64{h.stamp, live.Milliseconds(time.Now()), milliseconds(h.at)} {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

// stateMessage is the session's state.
type stateMessage struct {
	Type    string          `json:"type"`
	Version string          `json:"version"`
	Input   string          `json:"input"`
	Source  live.SourceKind `json:"source"`
	live.State
	Words        string              `json:"words"` // for Filter
	OtherWords   string              `json:"other_words"`
	Backend      string              `json:"backend"`
	Start        live.FilterSettings `json:"start"`   // the initial filter, for the reset
	Presets      []live.Preset       `json:"presets"` // the same for all inputs
	Restore      bool                `json:"restore"` // the page may set the filter of an earlier visit
	Options      []live.Control      `json:"options"`
	Automatic    map[string]float64  `json:"automatic"`
	Command      string              `json:"command"`
	Viewers      int                 `json:"viewers"`
	MaxViewers   int                 `json:"max_viewers"`
	Rights       access.Rights       `json:"rights"` // of this viewer
	Guests       []viewerMessage     `json:"guests"` // for those with control
	Recording    *Recording          `json:"recording"`
	RecordWhy    string              `json:"record_why"` // viewers cannot record, and why; or ""
	CameraWanted bool                `json:"camera_wanted"`
}

// viewerMessage describes a viewer.
type viewerMessage struct {
	ID        int64         `json:"id"`
	Address   string        `json:"address"`
	Since     float64       `json:"since"`
	Transport string        `json:"transport"`
	Rights    access.Rights `json:"rights"`
	You       bool          `json:"you"`
}

// configMessage describes the pictures that follow.
type configMessage struct {
	Type string `json:"type"`
	*preview.Config
}

// statsMessage holds the figures; times in milliseconds, rates in bits a second.
type statsMessage struct {
	Type        string   `json:"type"`
	FPS         float64  `json:"fps"`
	SourceFPS   float64  `json:"source_fps"`
	SentFPS     float64  `json:"sent_fps"`
	Dropped     dropped  `json:"dropped"`
	CopyIn      *float64 `json:"copy_in"`
	Kernel      *float64 `json:"kernel"`
	CopyOut     *float64 `json:"copy_out"`
	Filter      float64  `json:"filter"`
	Encode      float64  `json:"encode"`
	Arrived     float64  `json:"arrival_to_sent"`
	BitRate     int64    `json:"bitrate"`
	SentBitRate float64  `json:"sent_bitrate"`
	InFlight    int      `json:"in_flight"`
	RTT         float64  `json:"rtt"`

	Noise *live.Noise `json:"noise,omitempty"`
}

// dropped counts pictures since the start: of the session, and of this viewer.
type dropped struct {
	Source int64 `json:"source"`
	Filter int64 `json:"filter"`
	Viewer int64 `json:"viewer"`
}

// Short messages.
type (
	pongMessage struct {
		Type   string  `json:"type"`
		T      float64 `json:"t"`
		Server float64 `json:"server"`
	}
	refusedMessage struct { // refused, camera_refused
		Type    string   `json:"type"`
		Reason  string   `json:"reason"`
		Options []string `json:"options,omitempty"` // whose change is refused
	}
	placeMessage struct {
		Type string  `json:"type"`
		At   float64 `json:"at"` // seconds from the file's start
	}
	samplesMessage struct {
		Type string `json:"type"`
		ID   int64  `json:"id"` // of the pair
		live.Measure
	}
	cameraMessage struct { // camera_ack, camera_key, camera_rate
		Type string `json:"type"`
		ID   uint32 `json:"id"`
		Bits int64  `json:"bits,omitempty"`
	}
)
