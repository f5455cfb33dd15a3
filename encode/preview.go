package encode

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"vidfilter/pipeline"
)

// PreviewKind is what a viewer can decode.
type PreviewKind uint8

const (
	// PreviewAVC is H.264, one access unit a packet, each NAL unit behind 4 bytes of big-endian length; the
	// parameter sets are in the configuration's Description only. As WebCodecs takes it.
	PreviewAVC PreviewKind = iota + 1
	// PreviewMP4 is the same H.264 as MP4: an initialization segment in the configuration, and one movie fragment
	// a picture. As MediaSource takes it.
	PreviewMP4
	// PreviewJPEG is a JPEG a picture.
	PreviewJPEG
)

// View is what a viewer is shown.
type View uint8

const (
	// ViewStack is both pictures and the stamp in one, from top to bottom; see PreviewConfig for where.
	ViewStack View = iota + 1
	// ViewSplit is the left half of the original and the right half of the filtered picture, a white line between.
	ViewSplit
	// ViewOriginal and ViewFiltered are one of the two.
	ViewOriginal
	ViewFiltered
)

// PreviewOptions of NewPreview.
type PreviewOptions struct {
	Kind      PreviewKind
	View      View    // ViewStack for PreviewMP4, one of the others for PreviewJPEG, any for PreviewAVC
	Baseline  bool    // H.264 of the Constrained Baseline profile: more bits, for decoders that take no other
	BitRate   int64   // bits a second at most, 0 for 4 million; see SetBitRate
	FrameRate float64 // pictures a second that are to be expected, 0 for 30
	Threads   int     // 0 for one a core, 8 at most
}

// Packet is one coded picture.
type Packet struct {
	Data   []byte         // until the next call
	Key    bool           // it can be decoded without the pictures before
	Config *PreviewConfig // in front of the first picture of each configuration, else nil
}

// PreviewConfig is what a viewer must know before the first picture.
type PreviewConfig struct {
	Codec       string // as in RFC 6381, "avc1.640020"
	Description []byte // PreviewAVC: avcC
	Init        []byte // PreviewMP4: ftyp and moov

	Width, Height           int // of each of the two pictures as they are coded: after scaling down, without padding
	CodedWidth, CodedHeight int // of the whole
	FilteredY, StampY       int // the rows of luma at which they begin; both 0 where there is no stack
	Scale                   int // by what the pictures were scaled down: for decoders, or for the bit rate
}

// Limits of the bit rate.
const (
	defaultPreviewRate = 4_000_000
	minPreviewRate     = 50_000
	defaultPreviewFPS  = 30
	maxPreviewThreads  = 8 // slices cost bits
)

// Preview codes pictures for one viewer as they come: each gives its packet at once. It is used from one
// goroutine, but for SetBitRate. It takes frames of any layout and size, also one after another; each new size or
// format begins with a new configuration and a key frame. Beside those, key frames come only when asked for.
type Preview struct {
	opts    PreviewOptions
	bitRate atomic.Int64
	format  pipeline.Format // of the frames
	tags    colourTags      // of the frames
	coder   previewCoder    // nil before the first picture
	pace    pace
	sizing  sizing
	rhythm  rhythm
	clock   mediaClock
}

// previewCoder codes pictures of one format.
type previewCoder interface {
	// code returns all of a packet but Config.
	code(original, filtered *pipeline.Frame, s Stamp, at slot, key bool) (Packet, error)
	config() *PreviewConfig
	close()
}

// slot is what a picture may cost and when it is shown.
type slot struct {
	bits         int64         // a second
	interval     time.Duration // from one picture to the next, as it has been lately
	at, duration int64         // in units of 1/90000 s
}

// NewPreview returns an encoder for one viewer, which Close frees.
func NewPreview(o PreviewOptions) (*Preview, error) {
	jpeg := o.Kind == PreviewJPEG
	switch {
	case o.Kind < PreviewAVC || o.Kind > PreviewJPEG:
		return nil, fmt.Errorf("encode: preview: unknown kind %d", o.Kind)
	case o.View < ViewStack || o.View > ViewFiltered || jpeg && o.View == ViewStack || o.Kind == PreviewMP4 && o.View != ViewStack:
		return nil, fmt.Errorf("encode: preview: kind %d has no view %d", o.Kind, o.View)
	case !(o.FrameRate >= 0 && o.FrameRate <= 1000):
		return nil, fmt.Errorf("encode: preview: %g pictures a second", o.FrameRate)
	}
	if o.FrameRate == 0 {
		o.FrameRate = defaultPreviewFPS
	}
	p := &Preview{opts: o, pace: newPace(o.FrameRate), sizing: newSizing(o.FrameRate), rhythm: newRhythm(o.FrameRate)}
	p.SetBitRate(o.BitRate)
	return p, nil
}

// SetBitRate sets how many bits a second the pictures may take from the next one on: for H.264 an upper bound that
// easy pictures stay below, for JPEG what is aimed at. H.264 for which a rate stays too low is scaled down, with a
// new configuration, and scaled up again when there is more. Below 50,000 counts as that, 0 as 4 million. It may be
// called from any goroutine.
func (p *Preview) SetBitRate(bits int64) {
	if bits == 0 {
		bits = defaultPreviewRate
	}
	p.bitRate.Store(max(bits, minPreviewRate))
}

// Preset returns how H.264 is coded now, in x264's words. It becomes faster, with a new configuration, when coding
// has taken more than half of the time from one picture to the next for a second or two, and better again after
// half a minute in which it took little. "" for JPEG.
func (p *Preview) Preset() string {
	if p.opts.Kind == PreviewJPEG {
		return ""
	}
	return p.pace.preset()
}

// Encode codes a picture, of frames of the same format, both of which it borrows. key asks for one that can be
// decoded without those before.
func (p *Preview) Encode(original, filtered *pipeline.Frame, s Stamp, key bool) (Packet, error) {
	if original.Format != filtered.Format {
		return Packet{}, fmt.Errorf("encode: preview: original %v and filtered %v", original.Format, filtered.Format)
	}
	begin := time.Now()
	fresh, err := p.prepare(original)
	if err != nil {
		return Packet{}, fmt.Errorf("encode: preview: %w", err)
	}
	packet, err := p.coder.code(original, filtered, s, p.slot(s), key)
	if err != nil {
		p.drop() // the next one begins anew
		return Packet{}, fmt.Errorf("encode: preview: %w", err)
	}
	if fresh {
		packet.Config = p.coder.config()
	}
	if p.unfit(original, time.Since(begin)) {
		p.drop()
	}
	return packet, nil
}

// unfit tells that pictures like f should be coded in another way from now on; the last one took so long.
func (p *Preview) unfit(f *pipeline.Frame, took time.Duration) bool {
	return p.opts.Kind != PreviewJPEG && p.pace.changes(took) ||
		p.opts.View == ViewStack && p.sizing.unfit(f.Width, f.Height, p.bitRate.Load())
}

func (p *Preview) slot(s Stamp) slot {
	interval := p.rhythm.next(s.Time)
	at, duration := p.clock.next(s.Time, interval)
	return slot{p.bitRate.Load(), interval, at, duration}
}

// prepare sees to it that there is a coder for frames like f; fresh tells that it is new.
func (p *Preview) prepare(f *pipeline.Frame) (fresh bool, err error) {
	tags := tagsOf(f)
	if p.coder != nil && p.format == f.Format && p.tags == tags {
		return false, nil
	}
	p.drop()
	if f.Width <= 0 || f.Height <= 0 {
		return false, errors.New("a picture without samples")
	}
	coder, err := p.open(f)
	if err != nil {
		return false, err
	}
	p.coder = coder
	p.format, p.tags = f.Format, tags
	return true, nil
}

func (p *Preview) open(f *pipeline.Frame) (previewCoder, error) {
	if p.opts.Kind == PreviewJPEG {
		return newPreviewJPEG(f, p.opts)
	}
	bits := p.bitRate.Load()
	c, err := p.composer(f, bits)
	if err != nil {
		return nil, err
	}
	avc, err := newPreviewAVC(c, f, p.opts, p.pace.preset(), bits)
	if err != nil || p.opts.Kind == PreviewAVC {
		return avc, err
	}
	return newPreviewMP4(avc)
}

func (p *Preview) composer(f *pipeline.Frame, bits int64) (composer, error) {
	if p.opts.View == ViewStack {
		return &stacker{stack: p.sizing.begin(f.Width, f.Height, bits)}, nil
	}
	return newAlone(p.opts.View, f)
}

func (p *Preview) drop() {
	if p.coder != nil {
		p.coder.close()
		p.coder = nil
	}
}

// Close frees the encoder. It may be called twice.
func (p *Preview) Close() { p.drop() }
