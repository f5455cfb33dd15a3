package e2e

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Output runs a program without input, and returns its standard output and error. ffmpeg and
// ffprobe are copies of a process that is linked already: they link 200 libraries, which takes
// longer than most of their runs here.
func Output(name string, args ...string) (out, said []byte, err error) {
	var stdout, stderr bytes.Buffer
	run := func() error {
		cmd := exec.Command(name, args...)
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		return cmd.Run()
	}
	if name == "ffmpeg" || name == "ffprobe" {
		if f, err := forkOf(name); err == nil {
			run = func() error { return f.run(&stdout, &stderr, args) }
		} // else there is no gcc
	}
	err = run()
	return stdout.Bytes(), stderr.Bytes(), err
}

//go:embed testdata/forks.c
var forksSource []byte

// forks returns the path of the library that makes a program wait for messages.
var forks = sync.OnceValues(func() (string, error) {
	path := filepath.Join(clips(), fmt.Sprintf("forks-%x.so", sha256.Sum256(forksSource)))
	if os.Chtimes(path, time.Time{}, time.Now()) == nil { // it is there, and stays
		return path, nil
	}
	dir, err := os.MkdirTemp("", "vidfilter-forks-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	made := filepath.Join(dir, "forks.so")
	cmd := exec.Command("gcc", "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-x", "c", "-o", made, "-")
	cmd.Stdin = bytes.NewReader(forksSource)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("gcc: %w: %s", err, out)
	}
	b, err := os.ReadFile(made)
	if err != nil {
		return "", err
	}
	keep(path, b)
	_, err = os.Stat(path)
	return path, err
})

// fork is a process that runs its program for each message, one at a time. It ends with the test.
type fork struct {
	name string
	conn *net.UnixConn
}

var (
	idleMutex sync.Mutex
	idle      = map[string][]*fork{} // by name
)

// forkOf returns an idle process of the program, or a new one.
func forkOf(name string) (*fork, error) {
	idleMutex.Lock()
	if all := idle[name]; len(all) > 0 {
		defer idleMutex.Unlock()
		idle[name] = all[:len(all)-1]
		return all[len(all)-1], nil
	}
	idleMutex.Unlock()
	library, err := forks()
	if err != nil {
		return nil, err
	}
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "fork"), os.NewFile(uintptr(pair[1]), "fork")
	defer ours.Close()
	defer theirs.Close()
	cmd := exec.Command(name)
	cmd.Env, cmd.ExtraFiles = append(os.Environ(), "LD_PRELOAD="+library), []*os.File{theirs}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() { _ = cmd.Wait() }()
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, err
	}
	return &fork{name, conn.(*net.UnixConn)}, nil
}

// run runs the program in the present folder.
func (f *fork) run(stdout, stderr io.Writer, args []string) error {
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	streams := []int{int(null.Fd())}
	var reading sync.WaitGroup
	var ends []*os.File
	for _, to := range []io.Writer{stdout, stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		defer r.Close()
		defer w.Close()
		streams, ends = append(streams, int(w.Fd())), append(ends, w)
		reading.Go(func() { _, _ = io.Copy(to, r) })
	}
	message := strings.Join(append([]string{folder}, args...), "\x00") + "\x00"
	_, _, err = f.conn.WriteMsgUnix([]byte(message), syscall.UnixRights(streams...), nil)
	for _, w := range ends {
		w.Close()
	}
	if err != nil {
		return err
	}
	reading.Wait()
	var status [4]byte
	if n, err := f.conn.Read(status[:]); err != nil || n < len(status) {
		return fmt.Errorf("no status of %s: %w", f.name, err)
	}
	idleMutex.Lock()
	idle[f.name] = append(idle[f.name], f)
	idleMutex.Unlock()
	if ended := syscall.WaitStatus(uint32(status[0]) | uint32(status[1])<<8); ended != 0 {
		return fmt.Errorf("exit code %d, signal %v", ended.ExitStatus(), ended.Signal())
	}
	return nil
}
