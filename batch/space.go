package batch

import (
	"errors"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Space returns the bytes that are free for this user, and all, of the file system that a path lies on, or will: what is not there
// yet is asked of the folder above.
func Space(path string) (free, total int64, err error) {
	var s unix.Statfs_t
	for {
		err = unix.Statfs(path, &s)
		above := filepath.Dir(path)
		if !errors.Is(err, fs.ErrNotExist) || above == path {
			break
		}
		path = above
	}
	if err != nil {
		return 0, 0, &fs.PathError{Op: "statfs", Path: path, Err: err}
	}
	block := int64(s.Frsize)
	if block == 0 {
		block = int64(s.Bsize)
	}
	return int64(s.Bavail) * block, int64(s.Blocks) * block, nil
}

const (
	gigabyte    = 1_000_000_000
	leastFree   = gigabyte
	mostFree    = 20 * gigabyte
	freePart    = 100 // 1 % of the file system
	smallPart   = 4   // but no more than a quarter of it
	slackPart   = 4   // work goes on with a quarter more than the least
	leastMargin = 1 << 20
)

// DefaultMinFree is how much of a file system of the given size is to stay free: the larger of 1 GB and 1 %, but no more than 20 GB,
// which any file that is being written needs long to fill, and no more than a quarter of a small disk.
func DefaultMinFree(total int64) int64 {
	return min(max(leastFree, total/freePart), mostFree, total/smallPart)
}

// Room says when to pause for want of space. It pauses below the least, and goes on a quarter above it, so that it does not
// go to and fro.
type Room struct {
	min    int64
	paused bool
}

// NewRoom takes the bytes that are to stay free; 0 never pauses.
func NewRoom(minFree int64) *Room { return &Room{min: minFree} }

// Paused says whether to pause, now that so much is free.
func (r *Room) Paused(free int64) bool {
	limit := r.min
	if r.paused {
		limit = r.Enough()
	}
	r.paused = r.min > 0 && free < limit
	return r.paused
}

// Enough is with how many free bytes work goes on after a pause.
func (r *Room) Enough() int64 { return r.min + max(r.min/slackPart, leastMargin) }
