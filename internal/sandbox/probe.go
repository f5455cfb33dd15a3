package sandbox

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Targets are what a process tries to reach, to prove that it cannot.
type Targets struct {
	Input  string `json:"input"`  // to read, which stays open
	Output string `json:"output"` // to write, which stays open
	Secret string `json:"secret"` // a file in the same folder as the two
	TCP    string `json:"tcp"`    // the address of a server
	Unix   string `json:"unix"`   // that of another
	UDP    string `json:"udp"`    // and of a third
	PID    int    `json:"pid"`    // of a process of this user
}

// MakeTargets makes files in a folder, and servers. closeAll ends the servers; call it even after
// an error.
func MakeTargets(dir string) (b Targets, closeAll func(), err error) {
	var open []io.Closer
	closeAll = func() {
		for _, c := range open {
			_ = c.Close()
		}
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	b = Targets{Input: in("input"), Output: in("output"), Secret: in("secret"), Unix: in("socket"), PID: os.Getpid()}
	for _, name := range []string{b.Input, b.Output, b.Secret} {
		if err := os.WriteFile(name, []byte("bait"), 0o600); err != nil {
			return b, closeAll, err
		}
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return b, closeAll, err
	}
	open, b.TCP = append(open, tcp), tcp.Addr().String()
	file, err := net.Listen("unix", b.Unix)
	if err != nil {
		return b, closeAll, err
	}
	open = append(open, file)
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return b, closeAll, err
	}
	open, b.UDP = append(open, udp), udp.LocalAddr().String()
	return b, closeAll, nil
}

// Attempt is something that a process has tried. Its door is open if that succeeded.
type Attempt struct {
	Name   string `json:"door"`
	Wanted bool   `json:"wanted"` // it is to be open
	Open   bool   `json:"open"`
	Says   string `json:"error,omitempty"`
}

// Wrong reports whether the door is open and should not be, or the other way round.
func (d Attempt) Wrong() bool { return d.Open != d.Wanted }

// attempts are the doors and their targets.
var attempts = []struct {
	name   string
	wanted bool
	try    func(Targets) error
}{
	{"read the input", true, func(b Targets) error { return readSome(b.Input) }},
	{"write the output", true, func(b Targets) error { return os.WriteFile(b.Output, []byte("x"), 0) }},
	{"start threads", true, func(Targets) error { return onThreads(8, func() error { return nil }) }},
	{"read another file", false, func(b Targets) error { return onThreads(8, func() error { return readSome(b.Secret) }) }},
	{"read the list of users", false, func(Targets) error { return readSome("/etc/passwd") }},
	{"list a folder", false, func(b Targets) error { _, err := os.ReadDir(filepath.Dir(b.Secret)); return err }},
	{"write another file", false, func(b Targets) error { return os.WriteFile(b.Secret, nil, 0) }},
	{"truncate another file", false, func(b Targets) error { return os.Truncate(b.Secret, 0) }},
	{"make a file", false, func(b Targets) error { return os.WriteFile(b.Secret+".new", nil, 0o600) }},
	{"link to a file", false, func(b Targets) error { return os.Link(b.Secret, b.Secret+".link") }},
	{"change a file's mode", false, func(b Targets) error { return os.Chmod(b.Secret, 0o666) }},
	{"rename a file", false, func(b Targets) error { return os.Rename(b.Secret, b.Secret+".moved") }},
	{"remove a file", false, func(b Targets) error { return os.Remove(b.Input) }},
	{"connect by TCP", false, func(b Targets) error { return connect("tcp", b.TCP) }},
	{"connect by a socket file", false, func(b Targets) error { return connect("unix", b.Unix) }},
	{"send a datagram", false, func(b Targets) error { return connect("udp", b.UDP) }},
	{"listen", false, listen},
	{"start a program", false, startProgram},
	{"fork", false, fork},
	{"signal another process", false, func(b Targets) error { return syscall.Kill(b.PID, 0) }},
	{"have the kernel signal another process", false, signalByKernel},
	{"type into the terminal", false, func(Targets) error { return command(unix.SYS_IOCTL, unix.TIOCSTI) }},
	{"read another process's memory", false, readMemory},
	{"trace another process", false, trace},
	{"change another process's limits", false, limits},
	{"make a namespace", false, func(Targets) error { return call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER) }},
	{"load a BPF program", false, func(Targets) error { return call(unix.SYS_BPF, 0) }},
	{"use io_uring", false, func(Targets) error { return call(unix.SYS_IO_URING_SETUP, 0) }},
	{"use the kernel's keys", false, func(Targets) error { _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true); return err }},
}

// Try tries every door. A process outside the sandbox damages the targets.
func Try(b Targets) (doors []Attempt) {
	for _, a := range attempts {
		d := Attempt{Name: a.name, Wanted: a.wanted, Open: true}
		if err := a.try(b); err != nil {
			d.Open, d.Says = false, err.Error()
			if no, ok := errors.AsType[syscall.Errno](err); ok {
				d.Says = no.Error()
			}
		}
		doors = append(doors, d)
	}
	return doors
}

func readSome(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Read(make([]byte, 1))
	if err == io.EOF {
		err = nil
	}
	return err
}

// onThreads runs f on n threads at once. It returns an error only if all do: one open thread is an
// open door.
func onThreads(n int, f func() error) error {
	var wg, arrived sync.WaitGroup
	errs := make([]error, n)
	ready := make(chan struct{})
	arrived.Add(n)
	for i := range n {
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			arrived.Done()
			<-ready
			errs[i] = f()
		})
	}
	arrived.Wait()
	close(ready)
	wg.Wait()
	if slices.Contains(errs, nil) {
		return nil
	}
	return errs[0]
}

// onThread runs f on a thread that ends with it.
func onThread(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		done <- f()
	}()
	return <-done
}

func connect(network, address string) error {
	c, err := net.Dial(network, address)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Write([]byte("x"))
	return err
}

func listen(Targets) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		err = l.Close()
	}
	return err
}

// startProgram starts this program, which ends at once: its variable is not from a parent.
func startProgram(Targets) error {
	p, err := os.StartProcess("/proc/self/exe", []string{"vidfilter"}, &os.ProcAttr{Env: []string{variable + "="}})
	if err == nil {
		_, err = p.Wait()
	}
	return err
}

// fork makes a process by the bare call, and ends it at once.
func fork(Targets) error {
	pid, _, no := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	switch {
	case no != 0:
		return no
	case pid == 0:
		for {
			syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
	_, err := syscall.Wait4(int(pid), nil, 0, nil)
	return err
}

// readMemory tries both ways to the memory of another process.
func readMemory(b Targets) error {
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", b.PID))
	if err == nil {
		return f.Close()
	}
	_, other := unix.ProcessVMReadv(b.PID, nil, nil, 0)
	if other == nil {
		return nil
	}
	return err
}

func trace(b Targets) error {
	return onThread(func() error {
		err := unix.PtraceSeize(b.PID)
		if err == nil {
			err = unix.PtraceDetach(b.PID)
		}
		if errors.Is(err, unix.ESRCH) { // seized, and not stopped
			err = nil
		}
		return err
	})
}

func limits(b Targets) error {
	var now unix.Rlimit
	return unix.Prlimit(b.PID, unix.RLIMIT_NOFILE, nil, &now)
}

// signalByKernel makes another process the one that hears of a pipe.
func signalByKernel(b Targets) error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	defer write.Close()
	_, err = unix.FcntlInt(read.Fd(), unix.F_SETOWN, b.PID)
	return err
}

// call makes a system call that cannot succeed here. EPERM means that the door is closed; with
// another error the kernel has looked at the arguments.
func call(number, arg uintptr) error { return attempt(number, arg, 0) }

// command does the same with a command for stdin. Upper bits do not hide it.
func command(number, command uintptr) error {
	if err := attempt(number, 0, 1<<40|command); err == nil {
		return nil
	}
	return attempt(number, 0, command)
}

func attempt(number, first, second uintptr) error {
	_, _, no := unix.Syscall(number, first, second, 0)
	if no == unix.EPERM || no == unix.ENOSYS {
		return no
	}
	return nil
}
