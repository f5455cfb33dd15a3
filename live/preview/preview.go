package preview

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"vidfilter/pipeline"
)

// Coding is the coding of a preview.
type Coding uint8

const (
	// AVC is H.264 for WebCodecs: one access unit per packet, 4 bytes of big-endian length before
	// each NAL unit, and parameter sets in Config.Description only.
	AVC Coding = iota + 1
	// JPEG is one JPEG per picture.
	JPEG
)

// View chooses the pictures of a preview.
type View uint8

const (
	// ViewStack shows both pictures, from top to bottom, and the stamp below; see Config.
	ViewStack View = iota + 1
	// ViewSplit shows the left half of the original and the right half of the filtered picture,
	// with a white line between.
	ViewSplit
	// ViewOriginal and ViewFiltered show one picture.
	ViewOriginal
	ViewFiltered
)

// Options of New.
type Options struct {
	Kind      Coding
	View      View
	Stamp     bool             // below ViewOriginal or ViewFiltered as well
	Display   pipeline.Display // which is applied to single pictures without a stamp
	Baseline  bool             // H.264's Constrained Baseline profile: more bits, for simple decoders
	BitRate   int64            // bits a second at most, 0 for 4 million; see SetBitRate
	FrameRate float64          // expected pictures a second, 0 for 30
	Threads   int              // 0 for one per core, 8 at most
}

// Ample returns the bits a second of H.264 above which pictures of this size look no better and
// only take longer to code and decode.
func Ample(samples int, fps float64) float64 {
	const perSample, least, most = 0.2, 4e6, 20e6
	return min(max(perSample*float64(samples)*fps, least), most)
}

// Packet is an encoded picture.
type Packet struct {
	Data   []byte  // valid until the next call
	Key    bool    // it can be decoded alone
	Config *Config // with a configuration's first picture, else nil
}

// Config describes the packets that follow, until the next one.
type Config struct {
	Codec       string   `json:"codec"`                 // as in RFC 6381, "avc1.640020"
	Description []byte   `json:"description,omitempty"` // AVC: avcC
	Sets        [][]byte `json:"-"`                     // AVC: the parameter sets of Description

	Width       int     `json:"width"` // of each picture as encoded: scaled, without padding
	Height      int     `json:"height"`
	CodedWidth  int     `json:"coded_width"` // of the whole
	CodedHeight int     `json:"coded_height"`
	FilteredY   int     `json:"filtered_y"` // first rows of luma of these parts; 0 without a stack
	StampY      int     `json:"stamp_y"`
	Scale       float64 `json:"scale"` // divisor of the pictures' size: 1, 1.5, 2 and so on

	Single  string  `json:"single,omitempty"`  // the only picture of a stack: "original" or "filtered"
	Smaller Smaller `json:"smaller,omitempty"` // why Scale is not 1, unless no decoder takes the size
}

// Smaller is why pictures are scaled down.
type Smaller string

// The reasons.
const (
	ForRate   Smaller = "rate"   // too few bits for the size
	ForCoder  Smaller = "coder"  // encoding is too slow
	ForViewer Smaller = "viewer" // SetSmaller asks for it
)

// Limits of the bit rate.
const (
	defaultRate = 4_000_000
	minRate     = 50_000
	defaultFPS  = 30
	maxThreads  = 8 // slices cost bits
)

// Encoder encodes pictures for viewers that show the same, without delay. Only SetBitRate and
// SetSmaller are safe for concurrent use. Frames may have any layout and size and may change them:
// each new format begins with a new configuration and a key frame. Other key frames come only on
// request.
type Encoder struct {
	opts    Options
	bitRate atomic.Int64
	smaller atomic.Int32
	formats [2]pipeline.Format // of the frames
	tags    colourTags         // of the frames
	coder   coder              // nil before the first picture
	pace    pace
	sizing  sizing
	rhythm  interval
}

// coder encodes pictures of one format.
type coder interface {
	// code returns a packet without Config.
	code(original, filtered *pipeline.Frame, s Stamp, at budget, key bool) (Packet, error)
	config() *Config
	close()
}

// budget bounds the bits of a picture.
type budget struct {
	bits     int64         // a second
	interval time.Duration // recent mean from one picture to the next
}

// New returns an encoder, which Close frees.
func New(o Options) (*Encoder, error) {
	switch {
	case o.Kind < AVC || o.Kind > JPEG:
		return nil, fmt.Errorf("preview: unknown kind %d", o.Kind)
	case o.View < ViewStack || o.View > ViewFiltered || o.View == ViewSplit && o.Stamp:
		return nil, fmt.Errorf("preview: kind %d has no view %d", o.Kind, o.View)
	case !(o.FrameRate >= 0 && o.FrameRate <= 1000):
		return nil, fmt.Errorf("preview: %g pictures a second", o.FrameRate)
	}
	if o.FrameRate == 0 {
		o.FrameRate = defaultFPS
	}
	o.Stamp = o.Stamp || o.View == ViewStack
	p := &Encoder{opts: o, pace: newPace(o.FrameRate), sizing: newSizing(o.View, o.FrameRate), rhythm: newRhythm(o.FrameRate)}
	p.SetBitRate(o.BitRate)
	return p, nil
}

// SetBitRate sets the bits a second from the next picture on: the maximum for H.264, the aim for
// JPEG. While the rate is too low for H.264, pictures are scaled down, with a new configuration.
// 0 stands for 4 million; the minimum is 50,000. It is safe for concurrent use.
func (p *Encoder) SetBitRate(bits int64) {
	if bits == 0 {
		bits = defaultRate
	}
	p.bitRate.Store(max(bits, minRate))
}

// SetSmaller scales stamped pictures down by further steps, to no less than a size at which they
// can be judged. It is safe for concurrent use.
func (p *Encoder) SetSmaller(steps int) { p.smaller.Store(int32(steps)) }

// Encode encodes a pair of frames, which it borrows. An original of another size than the filtered
// one is scaled to it. key asks for a key frame.
func (p *Encoder) Encode(original, filtered *pipeline.Frame, s Stamp, key bool) (Packet, error) {
	begin := time.Now()
	fresh, err := p.prepare(original, filtered)
	if err != nil {
		return Packet{}, fmt.Errorf("preview: %w", err)
	}
	packet, err := p.coder.code(original, filtered, s, budget{p.bits(), p.rhythm.next(s.Time)}, key)
	if err != nil {
		p.drop() // the next picture begins anew
		return Packet{}, fmt.Errorf("preview: %w", err)
	}
	if fresh {
		packet.Config = p.coder.config()
	}
	if p.unfit(filtered, time.Since(begin)) {
		p.drop()
	}
	return packet, nil
}

// unfit reports whether pictures like f need another coder, given the time the last one took.
func (p *Encoder) unfit(f *pipeline.Frame, took time.Duration) bool {
	again := p.opts.Kind != JPEG && p.pace.changes(took)
	return again || p.opts.Stamp && p.sizing.unfit(f.Width, f.Height, p.bits(), p.steps())
}

// bits returns the bit rate: a slow coder gets fewer than the line takes.
func (p *Encoder) bits() int64 {
	return max(int64(float64(p.bitRate.Load())*p.pace.step().bits), minRate)
}

func (p *Encoder) steps() steps {
	return steps{coder: p.pace.step().smaller, viewer: int(p.smaller.Load())}
}

// prepare makes a coder for frames like these unless there is one; fresh means that it is new.
func (p *Encoder) prepare(original, f *pipeline.Frame) (fresh bool, err error) {
	tags, formats := tagsOf(f), [2]pipeline.Format{original.Format, f.Format}
	if p.coder != nil && p.formats == formats && p.tags == tags {
		return false, nil
	}
	p.drop()
	if f.Width <= 0 || f.Height <= 0 {
		return false, errors.New("a picture without samples")
	}
	coder, err := p.open(original.Format, f)
	if err != nil {
		return false, err
	}
	p.coder = coder
	p.formats, p.tags = formats, tags
	return true, nil
}

func (p *Encoder) open(original pipeline.Format, f *pipeline.Frame) (coder, error) {
	bits := p.bits()
	var c composer
	if p.opts.Stamp {
		c = &stacker{stack: p.sizing.begin(f.Width, f.Height, bits, p.steps())}
	} else {
		var err error
		if c, err = newSingle(p.opts, original, f.Format); err != nil {
			return nil, err
		}
	}
	if p.opts.Kind == JPEG {
		return newJPEG(c, p.opts)
	}
	return newAVC(c, f, p.opts, p.pace.preset(), bits)
}

func (p *Encoder) drop() {
	if p.coder != nil {
		p.coder.close()
		p.coder = nil
	}
}

// Close frees the encoder. It may be called twice.
func (p *Encoder) Close() { p.drop() }
