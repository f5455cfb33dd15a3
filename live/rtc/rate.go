package rtc

import (
	"math"
	"sync"
	"time"

	"github.com/pion/interceptor/pkg/cc"

	"vidfilter/live/opus"
)

const (
	clockRate = 90000     // of RTP's times of pictures
	soundRate = opus.Rate // of sound's

	firstRate = 4_000_000
	minRate   = 200_000
	maxRate   = 40_000_000
)

// rate chooses a player's bitrate: by pion's estimate if the player reports arrival times, else by
// its losses; never above the player's own limit.
type rate struct {
	line cc.BandwidthEstimator // set before the first call

	mu     sync.Mutex
	told   bool    // the player reports arrival times
	most   float64 // that it takes
	byLoss float64
	judged time.Time
}

func newRate() *rate { return &rate{most: math.Inf(1), byLoss: firstRate} }

// heard notes that the player reports arrival times.
func (r *rate) heard() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = true
}

// limit records the player's own estimate of its bandwidth.
func (r *rate) limit(bits float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if bits > 0 {
		r.most = bits
	}
}

// lost takes the share of packets lost since the last report. A small loss is the line's, a large
// one is our own doing.
func (r *rate) lost(now time.Time, share float64) {
	const pause = 500 * time.Millisecond
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.judged) < pause {
		return
	}
	r.judged = now
	switch {
	case share > 0.1:
		r.byLoss *= 1 - share/2
	case share < 0.02:
		r.byLoss *= 1.05
	}
	r.byLoss = min(max(r.byLoss, minRate), maxRate)
}

// target returns the bits a second for the next picture.
func (r *rate) target() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	bits := r.byLoss
	if r.told {
		bits = float64(r.line.GetTargetBitrate())
	}
	return min(max(min(bits, r.most), minRate), maxRate)
}
