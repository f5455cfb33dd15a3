package contract

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// The types of objects that --progress json writes to stderr, one per line. The last one is
// TypeDone.
const (
	TypeWarning  = "warning"
	TypeInfo     = "info"
	TypeVerbose  = "verbose"
	TypeProgress = "progress"
	TypeDone     = "done"
)

// Message is a TypeWarning, TypeInfo or TypeVerbose object.
type Message struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// Progress is a TypeProgress object.
type Progress struct {
	Type    string   `json:"type"`
	Frame   int64    `json:"frame"`
	Total   *int64   `json:"total"` // null if unknown
	FPS     float64  `json:"fps"`
	Speed   float64  `json:"speed"`
	OutTime float64  `json:"out_time"` // seconds
	ETA     *float64 `json:"eta"`      // seconds; null if unknown
	Size    int64    `json:"size"`     // bytes
	Stages  Stages   `json:"stages"`
	GPU     *GPU     `json:"gpu,omitempty"` // if the filter runs on one
}

// Stages holds the time that each stage worked, in milliseconds per frame. The stages run at the
// same time: a job takes as long as the slowest of them.
type Stages struct {
	Decode float64 `json:"decode_ms"`
	Filter float64 `json:"filter_ms"`
	Encode float64 `json:"encode_ms"`
}

// GPU holds times measured by the GPUs, in milliseconds per frame. Overlap is how many of the
// three ran at the same time on average.
type GPU struct {
	CopyIn  float64 `json:"copy_in_ms"`
	Kernel  float64 `json:"kernel_ms"`
	CopyOut float64 `json:"copy_out_ms"`
	Overlap float64 `json:"overlap"`
}

// Causes of failures that other programs act on.
const (
	CauseNoSpace  = "no_space"  // the disk or a quota was full
	CauseNVENC    = "nvenc"     // NVENC of this machine does not encode it
	CauseTooLarge = "too_large" // pictures have more pixels than fit into the memory, or are allowed
	CauseSession  = "session"   // as many sessions of NVENC were open as the driver allows
)

// Done is the TypeDone object: how a job ended.
type Done struct {
	Type        string           `json:"type"`
	ExitCode    int              `json:"exit_code"`
	Error       string           `json:"error,omitempty"`
	Hint        string           `json:"hint,omitempty"`
	Cause       string           `json:"cause,omitempty"` // one of the above
	Frame       int64            `json:"frame"`
	FPS         float64          `json:"fps"`
	OutTime     float64          `json:"out_time"`
	Elapsed     float64          `json:"elapsed"`
	InSize      int64            `json:"in_size"` // bytes; 0 if unknown
	Size        int64            `json:"size"`
	Output      Name             `json:"output,omitempty"`
	Spared      Name             `json:"not_replaced,omitempty"` // existing file kept
	Verified    bool             `json:"verified"`
	Unverified  bool             `json:"unverified,omitempty"` // the output failed its check
	Interrupted bool             `json:"interrupted"`
	PSNR        *Number          `json:"psnr,omitempty"` // dB; null if infinite (equal pictures)
	SSIM        *Number          `json:"ssim,omitempty"`
	Warnings    []string         `json:"warnings"`
	Damage      map[string]int64 `json:"damage"`             // descriptions, with counts
	NotKept     []string         `json:"not_kept,omitempty"` // side data that the output lacks
	Noise       *Noise           `json:"noise,omitempty"`    // found by the denoiser
	Repaired    *Repaired        `json:"repaired,omitempty"` // by --repair
	Quality     string           `json:"quality,omitempty"`  // of the denoiser
	Stages      *Stages          `json:"stages,omitempty"`
	Differences []Difference     `json:"differences,omitempty"`
}

// Outcome returns the outcome of the job.
func (d Done) Outcome() Outcome {
	o := Outcome{Frames: d.Frame, Quality: d.Quality, Noise: d.Noise, Repaired: d.Repaired, Differences: d.Differences}
	o.Damaged = d.ExitCode == ExitDamaged && (len(d.Damage) > 0 || Losses(d.Differences) == nil)
	return o.In(d.Elapsed)
}

// Outcome is how the filtering of a file or a part ended. The results of tasks, records and
// reports embed it, under these names.
type Outcome struct {
	Frames  int64   `json:"frames,omitempty"`
	Seconds float64 `json:"seconds,omitempty"` // of work, on all workers
	FPS     float64 `json:"fps,omitempty"`     // frames per second of work
	// the output lacks the unreadable parts of the source
	Damaged     bool         `json:"damaged,omitempty"`
	Quality     string       `json:"quality,omitempty"`     // of the denoiser
	Noise       *Noise       `json:"noise,omitempty"`       // found by the denoiser
	Repaired    *Repaired    `json:"repaired,omitempty"`    // by --repair
	Differences []Difference `json:"differences,omitempty"` // between source and output
}

// In returns the outcome after seconds of work. FPS is 0 for no time.
func (o Outcome) In(seconds float64) Outcome {
	o.Seconds, o.FPS = seconds, 0
	if fps := float64(o.Frames) / seconds; seconds > 0 && !math.IsInf(fps, 0) {
		o.FPS = fps
	}
	return o
}

// Faults describes damage and losses of the output; "" for neither.
func (o Outcome) Faults() string {
	var words []string
	if o.Damaged {
		words = append(words, "the source is damaged; the output holds its readable part")
	}
	if lost := Losses(o.Differences); lost != nil {
		words = append(words, "the output lost "+strings.Join(lost, ", "))
	}
	return strings.Join(words, "; ")
}

// Difference is a property in which the output differs from the source.
type Difference struct {
	Item     string `json:"item"`               // "video", "stream 2", "chapter 1", "tag title"
	Property string `json:"property,omitempty"` // "" if it is about the whole item
	From     string `json:"from"`               // "" if it is new
	To       string `json:"to"`                 // "" if it is missing
	Lost     bool   `json:"lost"`               // the output holds less
	Told     bool   `json:"told,omitempty"`     // announced by a warning or an option
}

// String describes the difference in words.
func (d Difference) String() string {
	what := d.Item
	if d.Property != "" {
		what = strings.TrimPrefix(d.Property+" of "+d.Item, "value of ")
	}
	switch {
	case d.To == "":
		return fmt.Sprintf("%s: %s is missing", what, d.From)
	case d.From == "":
		return fmt.Sprintf("%s: %s is new", what, d.To)
	}
	return fmt.Sprintf("%s: %s becomes %s", what, d.From, d.To)
}

// Losses describes the losses that no warning or option announced.
func Losses(all []Difference) (words []string) {
	for _, d := range all {
		if d.Lost && !d.Told {
			words = append(words, d.String())
		}
	}
	return words
}

// Number is a float that is null where JSON has no number.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(n), 0) || math.IsNaN(float64(n)) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// Repaired counts the replacements of --repair.
type Repaired struct {
	Frames  int64 `json:"frames"`
	Patches int64 `json:"patches"`
}

// With returns the sum. Either may be unknown, nil.
func (r *Repaired) With(more *Repaired) *Repaired {
	switch {
	case r == nil:
		return more
	case more == nil:
		return r
	}
	return &Repaired{r.Frames + more.Frames, r.Patches + more.Patches}
}

// Noise sums up the noise of a job's frames: standard deviations in levels of 8 bits.
type Noise struct {
	Luma   float64 `json:"luma"` // means
	Chroma float64 `json:"chroma"`
	Least  float64 `json:"least_luma"` // of any frame
	Most   float64 `json:"most_luma"`
	Clean  int     `json:"clean_frames"` // copied as they were
}

// With returns the noise of frames and more frames together. Either may be unknown, nil.
func (n *Noise) With(frames int64, more *Noise, moreFrames int64) *Noise {
	switch {
	case n == nil || frames <= 0:
		return more
	case more == nil || moreFrames <= 0:
		return n
	}
	share := float64(moreFrames) / float64(frames+moreFrames)
	mean := func(a, b float64) float64 { return math.Round(100*(a+(b-a)*share)) / 100 }
	return &Noise{
		Luma: mean(n.Luma, more.Luma), Chroma: mean(n.Chroma, more.Chroma),
		Least: min(n.Least, more.Least), Most: max(n.Most, more.Most), Clean: n.Clean + more.Clean,
	}
}
