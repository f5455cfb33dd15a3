package batch

const (
	gigabyte    = 1_000_000_000
	leastFree   = gigabyte
	mostFree    = 20 * gigabyte
	freePart    = 100 // 1 % of the file system
	smallPart   = 4   // but at most a quarter of it
	slackPart   = 4   // work resumes with a quarter more than the minimum
	leastMargin = 1 << 20
)

// DefaultMinFree returns how much of a file system should stay free: 1 GB or 1 %, whichever is
// larger, but at most 20 GB and a quarter of the disk.
func DefaultMinFree(total int64) int64 {
	return min(max(leastFree, total/freePart), mostFree, total/smallPart)
}

// Room decides when to pause for lack of space. It resumes at a quarter above the minimum so that
// it does not flap.
type Room struct {
	min    int64
	paused bool
}

// NewRoom takes the bytes that must stay free; 0 never pauses.
func NewRoom(minFree int64) *Room { return &Room{min: minFree} }

// Paused reports whether to pause with this many bytes free.
func (r *Room) Paused(free int64) bool {
	limit := r.min
	if r.paused {
		limit = r.Enough()
	}
	r.paused = r.min > 0 && free < limit
	return r.paused
}

// Enough returns the free bytes at which work resumes after a pause.
func (r *Room) Enough() int64 { return r.min + max(r.min/slackPart, leastMargin) }
