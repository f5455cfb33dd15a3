package decode

//#cgo pkg-config: libavutil
//#include <libavutil/mem.h>
//#include <limits.h>
//#include "glue.h"
import "C"

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// The most that opening may cost, which FFmpeg does not bound. Films take a second and some tens of
// megabytes.
const (
	openingMemory = 1 << 30   // beyond the file's size
	openingBlock  = 256 << 20 // of memory, or the file's size if that is more

	abandonAfter = time.Second // in which an opening that is interrupted may end by itself
)

// openingWork is of a processor.
var openingWork = 10 * time.Second

// reading counts the inputs of this process that are read: the process has one peak of memory.
var reading atomic.Int32

// bounded calls open, which opens the container, and ends it with ctx or when it costs too much. If
// open goes on all the same, it is abandoned with its thread, and the input must not be closed.
func bounded(ctx context.Context, path string, interrupt func(), open func() error) (abandoned bool, err error) {
	done, started := make(chan error, 1), make(chan int, 1)
	alone := reading.Load() == 0
	size := int64(0)
	if st, err := os.Stat(FileOf(path)); err == nil && st.Mode().IsRegular() {
		size = st.Size()
	}
	if alone {
		C.av_max_alloc(C.size_t(max(openingBlock, min(size, C.INT_MAX))))
	}
	before := peak()
	var earlier time.Duration
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		thread := unix.Gettid()
		earlier = worked(thread) // by other goroutines
		started <- thread
		done <- open()
	}()
	thread := <-started
	ticks := time.NewTicker(20 * time.Millisecond)
	defer ticks.Stop()
	var late <-chan time.Time
	var why error
	stop := func(err error) {
		if why == nil {
			why = err
			interrupt()
			late = time.After(abandonAfter)
		}
	}
	for cancelled := ctx.Done(); ; {
		select {
		case err := <-done:
			if alone {
				C.av_max_alloc(C.INT_MAX)
			}
			if why != nil {
				return false, why
			}
			return false, err
		case <-cancelled:
			cancelled = nil
			stop(context.Cause(ctx))
		case <-late:
			return true, why
		case <-ticks.C:
			switch {
			case worked(thread)-earlier > openingWork:
				stop(tooMuch(path, fmt.Sprintf("to open it takes more than %v of work", openingWork)))
			case alone && peak()-before > openingMemory+size:
				stop(tooMuch(path, fmt.Sprintf("to open it takes more than %d MB of memory", (openingMemory+size)>>20)))
			}
		}
	}
}

func tooMuch(path, what string) error {
	return &Error{Op: "open", Path: path, Err: fmt.Errorf("%s, as no film does", what), hint: largeHint}
}

// worked returns how long a thread of this process has computed; 0 if it has ended.
func worked(thread int) time.Duration {
	const ofThread, scheduled = 4, 2
	var ts unix.Timespec
	if unix.ClockGettime(int32(^thread)<<3|ofThread|scheduled, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// peak returns the most memory that the process has used so far.
func peak() int64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Maxrss << 10
}
