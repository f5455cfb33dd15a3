package gpu

// #include <libcuda.h>
import "C"

import (
	"sync"
	"unsafe"

	"gorgonia.org/cu"

	"vidfilter/gpu/surface"
	"vidfilter/kernels"
)

// surfaceCopier copies pictures between frames and a decoder or encoder of FFmpeg on the same
// device, in a stream that both use. It has a thread of its own, since it waits for pictures.
type surfaceCopier struct {
	unit    *openDevice
	thread  *thread
	context C.CUcontext
	stream  cu.Stream
	done    cu.Event
	closing sync.Once
}

func newSurfaceCopier(u *openDevice) (*surfaceCopier, error) {
	c := &surfaceCopier{unit: u, thread: newThread(u.work.patience, u.alive, u.giveUp)}
	if err := c.thread.do(c.open); err != nil {
		c.thread.close()
		return nil, err
	}
	return c, nil
}

func (c *surfaceCopier) open() (err error) {
	if err := enter(c.unit.device); err != nil {
		return err
	}
	if err = result(C.cuCtxGetCurrent(&c.context)); err == nil {
		c.stream, err = cu.MakeStream(cu.NonBlocking)
	}
	if err == nil {
		c.done, err = cu.MakeEvent(cu.BlockingSyncEvent)
	}
	if err != nil {
		c.end()
	}
	return err
}

func (c *surfaceCopier) end() {
	freeEvent(&c.done)
	if c.stream != (cu.Stream{}) {
		_ = c.stream.Destroy()
	}
	_ = c.unit.leave()
}

// close frees everything, after free on the thread. It may be called more than once.
func (c *surfaceCopier) close(free func()) {
	c.closing.Do(func() {
		_ = c.thread.do(func() error {
			free()
			c.end()
			return nil
		})
		if c.unit.alive.Err() == nil {
			c.thread.close()
		}
	})
}

// Handles returns the CUcontext and the CUstream for FFmpeg.
func (c *surfaceCopier) Handles() (context, stream unsafe.Pointer) {
	return unsafe.Pointer(c.context), unsafe.Pointer(streamHandle(c.stream))
}

// run queues launches of the kernel for samples of a number of bytes. It must be called on the
// thread.
func (c *surfaceCopier) run(bytes int, launches []kernels.Launch) error {
	k, err := c.unit.load(surface.Kernel(bytes))
	if err != nil {
		return err
	}
	for _, l := range launches {
		if err := run(k.kernel, l, c.stream); err != nil {
			return err
		}
	}
	return nil
}

// wait waits for the stream. It must be called on the thread.
func (c *surfaceCopier) wait() error {
	if err := c.done.Record(c.stream); err != nil {
		return err
	}
	return c.done.Synchronize()
}
