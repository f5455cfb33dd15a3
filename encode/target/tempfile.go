package target

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

const (
	tempMark   = ".vidfilter-"
	tempEnding = ".tmp"
	// maxTempBase is the room for the target's name in 255 bytes, less a dot, the mark, a PID of
	// 10 digits, a dash, 8 hexadecimal digits and the ending.
	maxTempBase = 255 - 1 - len(tempMark) - 10 - 1 - 8 - len(tempEnding)
)

// tempPrefix returns the beginning of the names of a target's temporary files.
func tempPrefix(base string) string {
	return "." + shorten(base, maxTempBase) + tempMark
}

// shorten cuts a name to at most the given number of bytes, between characters.
func shorten(name string, most int) string {
	if len(name) <= most {
		return name
	}
	name = name[:most]
	for r, n := utf8.DecodeLastRuneInString(name); r == utf8.RuneError && n == 1; r, n = utf8.DecodeLastRuneInString(name) {
		name = name[:len(name)-1]
	}
	return name
}

// createTemp makes a target's temporary file, with the mode and owner of the file that it will
// replace.
func createTemp(target, path string, old fs.FileInfo) (temp *os.File, err error) {
	dir, base := filepath.Split(path)
	if len(base) > 255 {
		return nil, OutputError("write", target, syscall.ENAMETOOLONG)
	}
	for range 100 {
		name := fmt.Sprintf("%s%d-%08x%s", tempPrefix(base), os.Getpid(), rand.Uint32(), tempEnding)
		temp, err = os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if err != nil {
		return nil, OutputError("create a file beside", target, err)
	}
	// The lock shows other runs that the file is in use, even in containers that do not see our
	// PID.
	_ = unix.Flock(int(temp.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if old != nil {
		adopt(temp, old)
	}
	return temp, nil
}

// adopt does its best: not every user may give files away.
func adopt(temp *os.File, old fs.FileInfo) {
	if s, ok := old.Sys().(*syscall.Stat_t); ok {
		_ = temp.Chown(int(s.Uid), int(s.Gid))
	}
	_ = temp.Chmod(old.Mode().Perm())
}

// removeStale removes temporary files that killed runs of the same target have left: their process
// is gone and their lock is free. Where locks do not work, they stay.
func removeStale(place string) {
	dir, base := filepath.Split(place)
	entries, err := os.ReadDir(filepath.Dir(place))
	if err != nil {
		return
	}
	prefix := tempPrefix(base)
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), prefix)
		if ok && e.Type().IsRegular() && ownerGone(rest, e) {
			removeUnlocked(filepath.Join(dir, e.Name()))
		}
	}
}

// unlocked is longer than any process takes to lock the file that it has made.
const unlocked = time.Minute

// ownerGone reads PID-RANDOM.tmp. In a container each run may have the same PID: then the file's
// age decides.
func ownerGone(rest string, e fs.DirEntry) bool {
	pid, random, ok := strings.Cut(strings.TrimSuffix(rest, tempEnding), "-")
	n, err := strconv.ParseInt(pid, 10, 32)
	if !ok || err != nil || n <= 0 || len(random) != 8 || !strings.HasSuffix(rest, tempEnding) {
		return false
	}
	if errors.Is(syscall.Kill(int(n), 0), syscall.ESRCH) {
		return true
	}
	info, err := e.Info()
	return err == nil && (int(n) == os.Getpid() || time.Since(info.ModTime()) > unlocked)
}

func removeUnlocked(name string) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		_ = os.Remove(name)
	}
}
