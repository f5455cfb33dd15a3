package decode

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// notCamera is the error for a path at which isV4L2 found no device.
func notCamera(path string, is int) error {
	e := &Error{Op: "open", Path: path}
	switch errno := syscall.Errno(-is); {
	case is == 0:
		e.Err = fmt.Errorf("%w: it is something else", ErrNoCamera)
	case errno == syscall.ENOENT || errno == syscall.ENOTDIR:
		e.Err = fmt.Errorf("%w: no such device", ErrNoCamera)
	default:
		e.Err = errno
	}
	return e
}

// cameraError describes the system's answer to opening or starting a camera. group may open the
// device; it matters for EACCES only.
func cameraError(path string, errno syscall.Errno, group uint32) error {
	e := &Error{Op: "open", Path: path, Err: errno}
	switch errno {
	case syscall.EACCES, syscall.EPERM:
		e.hint = fmt.Sprintf("cameras belong to the group %s: sudo usermod -aG %[1]s %s, then log in again", groupName(group), userName())
	case syscall.EBUSY:
		e.Err, e.hint = fmt.Errorf("%w: another program uses it", ErrBusy), "close that program"
		if who := users(path); who != "" {
			e.Err = fmt.Errorf("%w: it is used by %s", ErrBusy, who)
		}
	case syscall.ENODEV, syscall.ENXIO, syscall.ENOENT:
		e.Err, e.hint = fmt.Errorf("%w: it was pulled out", ErrNoCamera), "plug it in again"
	case syscall.ENOTTY, syscall.EINVAL:
		e.Err = fmt.Errorf("%w: it does not answer as one", ErrNoCamera)
	case syscall.ENOSPC:
		e.Err = errors.New("the USB bus has no room for its pictures")
		e.hint = "plug it into another port, or take a smaller size or mjpeg"
	}
	return e
}

func groupName(id uint32) string {
	g, err := user.LookupGroupId(strconv.FormatUint(uint64(id), 10))
	if err != nil || g.Name == "root" {
		return "video"
	}
	return g.Name
}

func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "NAME"
}

// users names the programs that have a device open, if the system shows them.
func users(path string) string {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		target = path
	}
	links, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	var all []string
	last := ""
	for _, l := range links {
		process := filepath.Dir(filepath.Dir(l))
		if process == last {
			continue
		}
		if to, err := os.Readlink(l); err != nil || to != target {
			continue
		}
		last = process
		name, err := os.ReadFile(filepath.Join(process, "comm"))
		if err != nil {
			continue // it has just ended
		}
		all = append(all, fmt.Sprintf("%s (process %s)", strings.TrimSpace(string(name)), filepath.Base(process)))
	}
	return strings.Join(all, ", ")
}
