package gpu

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorgonia.org/cu"

	"vidfilter/kernels"
)

// unit is a device in use: its primary context, current on a thread that makes the calls in their order and
// on another that waits, and the kernels loaded so far. Its methods are called on no particular goroutine.
type unit struct {
	Device
	work, waiter *thread
	silence      *silence
	functions    map[string]*function // by the variant's name; only work touches them
}

// function is a loaded kernel.
type function struct {
	name   string
	module cu.Module
	kernel cu.Function
	shared int // bytes of dynamic shared memory that it may use
}

// everyShared is how much dynamic shared memory a kernel may use unasked.
const everyShared = 48 << 10

func openUnit(d Device, patience time.Duration) (*unit, error) {
	s := newSilence()
	u := &unit{Device: d, silence: s, work: newThread(patience, s), waiter: newThread(patience, s), functions: map[string]*function{}}
	if err := u.open(); err != nil {
		u.endThreads()
		return nil, u.failed(err, "open %s (%s)", d, d.Name)
	}
	return u, nil
}

func (u *unit) open() error {
	if err := u.work.do(func() error { return enter(u.device) }); err != nil {
		return err
	}
	if err := u.waiter.do(func() error { return enter(u.device) }); err != nil {
		_ = u.work.do(u.leave)
		return err
	}
	return nil
}

// enter makes a device's primary context the thread's own.
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

func (u *unit) leave() error { return u.device.ReleasePrimaryCtx() }

// load returns a variant's kernel, compiling it for the device when it is new.
func (u *unit) load(v kernels.Variant) (*function, error) {
	if f := u.functions[v.Name]; f != nil {
		return f, nil
	}
	text, err := v.PTX()
	if err != nil {
		return nil, err
	}
	f := &function{name: v.Name, shared: everyShared}
	if f.module, err = cu.LoadData(text); err != nil {
		return nil, u.failed(err, "load %s on %s", v.Name, u)
	}
	if f.kernel, err = f.module.Function(v.Name); err != nil {
		_ = f.module.Unload()
		return nil, u.failed(err, "find %s in its module on %s", v.Name, u)
	}
	u.functions[v.Name] = f
	return f, nil
}

// allow lets the kernel use so much dynamic shared memory.
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
func (u *unit) free() (int64, error) {
	free, err := call(context.Background(), u.work, func() (int64, error) {
		free, _, err := cu.MemInfo()
		return free, err
	})
	return free, u.failed(err, "ask %s for its free memory", u)
}

// failed is failed for what a device answered. A device that is silent gets its own words.
func (u *unit) failed(err error, op string, args ...any) error {
	if errors.Is(err, errSilent) {
		return &Error{
			Op:   "gpu: " + fmt.Sprintf(op, args...),
			Text: fmt.Sprintf("%s did not answer for %v", u, u.work.patience), hint: hintReset,
		}
	}
	return failed(err, op, args...)
}

// close frees the kernels and the context. A silent device is left alone: nothing would come back.
func (u *unit) close() error {
	if u.silence.has() {
		return nil
	}
	err := u.work.do(func() error {
		for _, f := range u.functions {
			_ = f.module.Unload()
		}
		return u.leave()
	})
	if e := u.waiter.do(u.leave); err == nil {
		err = e
	}
	u.endThreads()
	return u.failed(err, "close %s", u)
}

func (u *unit) endThreads() {
	if !u.silence.has() {
		u.work.close()
		u.waiter.close()
	}
}
