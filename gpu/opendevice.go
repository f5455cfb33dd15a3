package gpu

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"gorgonia.org/cu"

	"vidfilter/kernels"
)

// openDevice has a device's primary context, current on a thread that makes calls in order, one
// that waits and one that compiles, and the kernels loaded so far. Its methods may be called from
// any goroutine.
type openDevice struct {
	Device
	limits                 Limits
	work, waiter, compiler *thread

	alive     context.Context // ends when the device does not respond
	giveUp    context.CancelFunc
	loaded    functions
	compiling atomic.Int64 // nanoseconds for the first kernel
	shares    int          // guarded by the backend's mu
}

// function is a loaded kernel.
type function struct {
	name   string
	module cu.Module
	kernel cu.Function
	shared int // limit of dynamic shared memory, in bytes
}

// everyShared is the default limit of a kernel's dynamic shared memory.
const everyShared = 48 << 10

func openUnit(d Device, patience time.Duration) (*openDevice, error) {
	u := &openDevice{Device: d}
	u.alive, u.giveUp = context.WithCancel(context.Background())
	for _, t := range []**thread{&u.work, &u.waiter, &u.compiler} {
		*t = newThread(patience, u.alive, u.giveUp)
	}
	if err := u.open(); err != nil {
		u.endThreads()
		return nil, u.failed(err, "open %s (%s)", d, d.Name)
	}
	return u, nil
}

// briefly opens a device for f alone.
func briefly[T any](d Device, f func(u *openDevice) (T, error)) (result T, err error) {
	u, err := openUnit(d, defaultPatience)
	if err != nil {
		return result, err
	}
	defer func() { _ = u.close() }()
	return f(u)
}

func (u *openDevice) threads() []*thread { return []*thread{u.work, u.waiter, u.compiler} }

func (u *openDevice) open() (err error) {
	if u.limits, err = u.Device.Limits(); err != nil {
		return err
	}
	for i, t := range u.threads() {
		if err := t.do(func() error { return enter(u.device) }); err != nil {
			for _, entered := range u.threads()[:i] {
				_ = entered.do(u.leave)
			}
			return err
		}
	}
	return nil
}

// enter makes a device's primary context current on the calling thread.
func enter(d cu.Device) error {
	ctx, err := d.RetainPrimaryCtx()
	if err != nil {
		return err
	}
	if err := cu.SetCurrentContext(ctx); err != nil {
		_ = d.ReleasePrimaryCtx()
		return err
	}
	return nil
}

func (u *openDevice) leave() error { return u.device.ReleasePrimaryCtx() }

// load returns a variant's kernel, and compiles it for the device if it is new. It may be called
// on any of the unit's threads.
func (u *openDevice) load(v kernels.Variant) (*function, error) {
	return u.loaded.get(v.Name, func() (*function, error) { return u.compile(v) })
}

// loadAll loads kernels on a separate thread, which does not hold up frames.
func (u *openDevice) loadAll(all []kernels.Variant) error {
	for _, v := range all {
		if err := u.compiler.do(func() error { _, err := u.load(v); return err }); err != nil {
			return err
		}
	}
	return nil
}

func (u *openDevice) compile(v kernels.Variant) (*function, error) {
	text, err := v.PTX()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	f := &function{name: v.Name, shared: everyShared}
	if f.module, err = cu.LoadData(text); err != nil {
		return nil, u.failed(err, "load %s on %s", v.Name, u)
	}
	if f.kernel, err = f.module.Function(v.Name); err != nil {
		_ = f.module.Unload()
		return nil, u.failed(err, "find %s in its module on %s", v.Name, u)
	}
	u.compiling.CompareAndSwap(0, int64(time.Since(start)))
	return f, nil
}

// functions holds a device's loaded kernels by name.
type functions struct {
	mu  sync.Mutex
	all map[string]*loading
}

// loading is a kernel that is being compiled until done is closed.
type loading struct {
	done chan struct{}
	f    *function
	err  error
}

// get returns a kernel, and compiles it if it is new. Concurrent callers wait for a kernel that is
// being compiled; after a failure the next call tries again.
func (s *functions) get(name string, compile func() (*function, error)) (*function, error) {
	s.mu.Lock()
	l, ok := s.all[name]
	if !ok {
		l = &loading{done: make(chan struct{})}
		if s.all == nil {
			s.all = map[string]*loading{}
		}
		s.all[name] = l
	}
	s.mu.Unlock()
	if ok {
		<-l.done
		return l.f, l.err
	}
	if l.f, l.err = compile(); l.err != nil {
		s.mu.Lock()
		delete(s.all, name)
		s.mu.Unlock()
	}
	close(l.done)
	return l.f, l.err
}

// allow raises the kernel's limit of dynamic shared memory if necessary.
func (f *function) allow(bytes int) error {
	if bytes <= f.shared {
		return nil
	}
	if err := allowShared(f.kernel, bytes); err != nil {
		return err
	}
	f.shared = bytes
	return nil
}

// free returns how many bytes of the device's memory are free.
func (u *openDevice) free() (int64, error) {
	free, err := call(context.Background(), u.work, func() (int64, error) {
		free, _, err := cu.MemInfo()
		return free, err
	})
	return free, u.failed(err, "ask %s for its free memory", u)
}

// failed is the package's failed, with its own message for a device that does not respond.
func (u *openDevice) failed(err error, op string, args ...any) error {
	if errors.Is(err, errSilent) {
		return &Error{
			Op:   "gpu: " + fmt.Sprintf(op, args...),
			Text: fmt.Sprintf("%s did not answer for %v", u, u.work.patience), hint: hintReset,
		}
	}
	return failed(err, op, args...)
}

// close unloads the kernels and releases the context. It leaves a device that does not respond
// alone: the calls would not return.
func (u *openDevice) close() error {
	if u.alive.Err() != nil {
		return nil
	}
	err := u.work.do(func() error {
		for _, l := range u.loaded.all {
			_ = l.f.module.Unload()
		}
		return u.leave()
	})
	for _, t := range u.threads()[1:] {
		if e := t.do(u.leave); err == nil {
			err = e
		}
	}
	u.endThreads()
	return u.failed(err, "close %s", u)
}

func (u *openDevice) endThreads() {
	if u.alive.Err() == nil {
		for _, t := range u.threads() {
			t.close()
		}
	}
}
