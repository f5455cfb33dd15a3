package target

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"vidfilter/internal/e2e"
	"vidfilter/internal/hint"
	"vidfilter/live/livetest"
)

// mustOpen opens a target that is discarded at the end of the test.
func mustOpen(t *testing.T, path string, policy Policy, inputs ...string) *File {
	t.Helper()
	target, err := Open(path, policy, inputs)
	e2e.Must(t, err)
	t.Cleanup(func() { target.Discard() })
	return target
}

// write puts text where the target wants it, by name as FFmpeg does.
func write(t *testing.T, target *File, text string) {
	t.Helper()
	e2e.Must(t, os.WriteFile(target.Path(), []byte(text), 0))
}

func put(t *testing.T, path, text string) string {
	t.Helper()
	e2e.Must(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func wantContent(t *testing.T, path, text string) {
	t.Helper()
	if b := e2e.Read(t, path); string(b) != text {
		t.Errorf("%s holds %q, want %q", path, b, text)
	}
}

// wantRefused checks that the target cannot be opened, and why.
func wantRefused(t *testing.T, why, path string, policy Policy, inputs ...string) {
	t.Helper()
	target, err := Open(path, policy, inputs)
	if err == nil {
		target.Discard()
		t.Fatalf("Open(%q) succeeds, want an error about %q", path, why)
	}
	if !errors.Is(err, ErrOutput) || !strings.Contains(err.Error(), why) {
		t.Errorf("Open(%q): %v; want an ErrOutput about %q", path, err, why)
	}
	if target != nil {
		t.Error("a target comes with the error")
	}
}

func TestCommitNew(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.mp4")
	target := mustOpen(t, path, Refuse)
	write(t, target, "new")
	if filepath.Dir(target.Path()) != dir || target.Direct() {
		t.Errorf("temporary file %q is not beside the target", target.Path())
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the name is taken before Commit")
	}
	for range 2 {
		e2e.Must(t, target.Commit())
	}
	e2e.Must(t, target.Discard())
	wantContent(t, path, "new")
	livetest.WantFiles(t, dir, "out.mp4")
}

func TestDiscard(t *testing.T) {
	dir := t.TempDir()
	path := put(t, filepath.Join(dir, "out.mp4"), "old")
	target := mustOpen(t, path, Replace)
	write(t, target, "new")
	for range 2 {
		e2e.Must(t, target.Discard())
	}
	if err := target.Commit(); !errors.Is(err, ErrOutput) {
		t.Errorf("Commit after Discard: %v", err)
	}
	wantContent(t, path, "old")
	livetest.WantFiles(t, dir, "out.mp4")
}

func TestReplaceKeepsMode(t *testing.T) {
	dir := t.TempDir()
	path := put(t, filepath.Join(dir, "out.mp4"), "old")
	e2e.Must(t, os.Chmod(path, 0o640))
	target := mustOpen(t, path, Replace)
	write(t, target, "new")
	e2e.Must(t, target.Commit())
	wantContent(t, path, "new")
	if info, _ := os.Stat(path); info.Mode() != 0o640 {
		t.Errorf("mode %v, want that of the file before", info.Mode())
	}
}

func TestNewFileFollowsUmask(t *testing.T) {
	old := syscall.Umask(0o027)
	defer syscall.Umask(old)
	target := mustOpen(t, filepath.Join(t.TempDir(), "out.mp4"), Refuse)
	if info, _ := os.Stat(target.Path()); info.Mode() != 0o640 {
		t.Errorf("mode %v, want 0640", info.Mode())
	}
}

func TestPolicy(t *testing.T) {
	dir := t.TempDir()
	path := put(t, filepath.Join(dir, "out.mp4"), "old")
	wantRefused(t, "exists", path, Refuse)
	if _, err := Open(path, Refuse, nil); err == nil || strings.Count(err.Error(), "exists") != 1 {
		t.Errorf("error %v", err)
	}
	declined := errors.New("declined")
	asked := ""
	_, err := Open(path, func(p string) error { asked = p; return declined }, nil)
	if !errors.Is(err, declined) || !errors.Is(err, ErrOutput) || asked != path {
		t.Errorf("asked about %q, error %v", asked, err)
	}
	if !strings.Contains(hint.Of(err), "-y") {
		t.Errorf("hint %q does not name -y", hint.Of(err))
	}
	livetest.WantFiles(t, dir, "out.mp4")
}

func TestFileAppearsMeanwhile(t *testing.T) {
	for _, policy := range []struct {
		name string
		f    Policy
		want string
	}{{"refuse", Refuse, "other"}, {"replace", Replace, "new"}} {
		t.Run(policy.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "out.mp4")
			target := mustOpen(t, path, policy.f)
			write(t, target, "new")
			put(t, path, "other")
			err := target.Commit()
			if (err != nil) != (policy.want == "other") || err != nil && !errors.Is(err, ErrOutput) {
				t.Errorf("Commit: %v", err)
			}
			target.Discard()
			wantContent(t, path, policy.want)
			livetest.WantFiles(t, filepath.Dir(path), "out.mp4")
		})
	}
}

func TestSymlinks(t *testing.T) {
	dir := t.TempDir()
	e2e.Must(t, os.MkdirAll(filepath.Join(dir, "real", "deep"), 0o755))
	e2e.Must(t, os.Symlink("real/deep", filepath.Join(dir, "way")))
	// real/there.mp4
	e2e.Must(t, os.Symlink("../there.mp4", filepath.Join(dir, "real", "deep", "up.mp4")))
	e2e.Must(t, os.Symlink("way/up.mp4", filepath.Join(dir, "link.mp4")))
	e2e.Must(t, os.Symlink("way/../there.mp4", filepath.Join(dir, "dots.mp4"))) // not dir/there.mp4
	for _, link := range []string{"link.mp4", "dots.mp4"} {
		target := mustOpen(t, filepath.Join(dir, link), Replace)
		write(t, target, link)
		e2e.Must(t, target.Commit())
		wantContent(t, filepath.Join(dir, "real", "there.mp4"), link)
		if info, _ := os.Lstat(filepath.Join(dir, link)); info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is no link any more", link)
		}
	}
	e2e.Must(t, os.Symlink("round.mp4", filepath.Join(dir, "round.mp4")))
	wantRefused(t, "too many symbolic links", filepath.Join(dir, "round.mp4"), Replace)
}

// An incomplete output replaces no file and is kept under the next free name.
func TestKeep(t *testing.T) {
	dir := t.TempDir()
	keep := func(name, text string) string {
		target := mustOpen(t, filepath.Join(dir, name), Replace)
		write(t, target, text)
		got, err := target.Keep("short")
		e2e.Must(t, err)
		if again, err := target.Keep("short"); err != nil {
			t.Errorf("kept twice: %q, %v", again, err)
		}
		return strings.TrimPrefix(got, dir+"/")
	}
	e2e.Must(t, os.Mkdir(filepath.Join(dir, "far"), 0o700))
	e2e.Must(t, os.Symlink("far/real.mp4", filepath.Join(dir, "link.mp4")))
	long := strings.Repeat("ü", 125) + ".mp4"
	for i, c := range [][2]string{
		{"out.mp4", "out.mp4"}, {"out.mp4", "out.short.mp4"}, {"out.mp4", "out.short-2.mp4"}, {"link.mp4", "link.mp4"},
		{"link.mp4", "far/real.short.mp4"}, {"plain", "plain"}, {"plain", "plain.short"},
		{long, long}, {long, strings.Repeat("ü", 122) + ".short.mp4"},
	} {
		text := strconv.Itoa(i)
		if got := keep(c[0], text); got != c[1] {
			t.Errorf("%d: kept as %q, want %q", i, got, c[1])
		}
		wantContent(t, filepath.Join(dir, c[1]), text)
	}
	wantContent(t, filepath.Join(dir, "out.mp4"), "0")
	wantContent(t, filepath.Join(dir, "far", "real.mp4"), "3")
}

func TestSameFileRefused(t *testing.T) {
	dir := t.TempDir()
	in := put(t, filepath.Join(dir, "in.mp4"), "precious")
	e2e.Must(t, os.Symlink("in.mp4", filepath.Join(dir, "symlink.mp4")))
	e2e.Must(t, os.Link(in, filepath.Join(dir, "hardlink.mp4")))
	e2e.Must(t, os.Symlink(dir, filepath.Join(dir, "around")))
	f, err := os.Open(in)
	e2e.Must(t, err)
	defer f.Close()
	fd := "/proc/self/fd/" + strconv.Itoa(int(f.Fd()))
	for _, out := range []string{in, dir + "/./in.mp4", dir + "/symlink.mp4", dir + "/hardlink.mp4", dir + "/around/in.mp4", fd} {
		wantRefused(t, "same file", out, Replace, in)
		wantRefused(t, "same file", out, Replace, "other.mp4", "file:"+in)
		wantRefused(t, "same file", in, Replace, out)
	}
	fifo := filepath.Join(dir, "fifo")
	e2e.Must(t, unix.Mkfifo(fifo, 0o600))
	wantRefused(t, "same file", fifo, Replace, fifo)
	wantRefused(t, "same file", "/dev/null", Replace, "/dev/null")
	wantContent(t, in, "precious")
	mustOpen(t, filepath.Join(dir, "out.mp4"), Refuse, in, "-", "https://example.org/x.mp4", filepath.Join(dir, "gone"))
}

func TestStandardStreams(t *testing.T) {
	in := put(t, filepath.Join(t.TempDir(), "in.mp4"), "x")
	f, err := os.OpenFile(in, os.O_RDWR, 0)
	e2e.Must(t, err)
	defer f.Close()
	swap := func(p **os.File) (restore func()) {
		old := *p
		*p = f
		return func() { *p = old }
	}
	restore := swap(&os.Stdin)
	wantRefused(t, "same file", in, Replace, "-")
	restore()
	restore = swap(&os.Stdout)
	defer restore()
	wantRefused(t, "same file", "-", Replace, in)
	target := mustOpen(t, "-", Refuse, "-") // the shell made stdout's file: no policy applies
	if !target.Direct() || target.Path() != "-" {
		t.Errorf("stdout: direct %v, path %q", target.Direct(), target.Path())
	}
	e2e.Must(t, target.Commit())
	wantContent(t, in, "x")
}

// Descriptors are written directly at their current position, under any name.
func TestDescriptors(t *testing.T) {
	dir := t.TempDir()
	f, err := os.OpenFile(put(t, filepath.Join(dir, "log"), "old "), os.O_RDWR|os.O_APPEND, 0)
	e2e.Must(t, err)
	defer f.Close()
	n := strconv.Itoa(int(f.Fd()))
	link := filepath.Join(dir, "out.mkv")
	e2e.Must(t, os.Symlink("/dev/fd/"+n, link))
	for _, name := range []string{"/dev/fd/" + n, "/proc/self/fd/" + n, fmt.Sprintf("/proc/%d/fd/%s", os.Getpid(), n), "/proc/thread-self/fd/" + n, link} {
		target := mustOpen(t, name, Refuse)
		if !target.Direct() || target.URL() != "pipe:"+n || target.Path() != "/dev/fd/"+n {
			t.Errorf("%s: direct %v, %s, %s", name, target.Direct(), target.URL(), target.Path())
		}
		w, err := target.OpenFile()
		e2e.Must(t, err)
		_, err = w.WriteString("new ")
		e2e.Must(t, errors.Join(err, w.Close(), target.Commit()))
	}
	wantContent(t, filepath.Join(dir, "log"), "old new new new new new ")
	wantRefused(t, "same file", "/dev/fd/"+n, Replace, filepath.Join(dir, "log"))
	r, err := os.Open(link)
	e2e.Must(t, err)
	defer r.Close()
	wantRefused(t, "open for reading only", "/dev/fd/"+strconv.Itoa(int(r.Fd())), Replace)
	wantRefused(t, "takes the messages", "/dev/stderr", Replace)
	wantRefused(t, "bad file descriptor", "/dev/fd/987", Replace)
}

// Behind a slash, a dash is a file.
func TestRelativeNames(t *testing.T) {
	for _, name := range []string{"./-", "out.mp4"} {
		t.Chdir(t.TempDir())
		target := mustOpen(t, name, Refuse)
		write(t, target, "new")
		e2e.Must(t, target.Commit())
		wantContent(t, name, "new")
		livetest.WantFiles(t, ".", filepath.Base(name))
	}
}

func TestBadPlaces(t *testing.T) {
	dir := t.TempDir()
	file := put(t, filepath.Join(dir, "file"), "x")
	wantRefused(t, "is a directory", dir, Replace)
	wantRefused(t, "is a directory", dir+"/", Replace)
	wantRefused(t, "is a directory", dir+"/..", Replace)
	wantRefused(t, "directory does not exist", dir+"/no/out.mp4", Replace)
	wantRefused(t, "not a directory", file+"/out.mp4", Replace)
	wantRefused(t, "name too long", dir+"/"+strings.Repeat("x", 300), Replace)
	_, err := Open(dir+"/no/out.mp4", Replace, nil)
	if !strings.Contains(hint.Of(err), "mkdir") {
		t.Errorf("hint %q", hint.Of(err))
	}
	livetest.WantFiles(t, dir, "file")
}

func TestNoPermission(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may do everything")
	}
	dir := t.TempDir()
	protected := put(t, filepath.Join(dir, "out.mp4"), "x")
	e2e.Must(t, os.Chmod(protected, 0o444))
	wantRefused(t, "no permission", protected, Replace)
	e2e.Must(t, os.Chmod(dir, 0o555))
	defer os.Chmod(dir, 0o755)
	wantRefused(t, "no permission", filepath.Join(dir, "new.mp4"), Replace)
}

func TestDirect(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	e2e.Must(t, unix.Mkfifo(fifo, 0o600))
	e2e.Must(t, os.Symlink("fifo", filepath.Join(dir, "link")))
	for _, path := range []string{"/dev/null", fifo, filepath.Join(dir, "link")} {
		target := mustOpen(t, path, Refuse)
		if !target.Direct() {
			t.Errorf("%s is not direct", path)
		}
		e2e.Must(t, target.Commit())
		e2e.Must(t, target.Discard())
	}
	livetest.WantFiles(t, dir, "fifo", "link")
	if info, err := os.Stat("/dev/null"); err != nil || info.Mode()&fs.ModeCharDevice == 0 {
		t.Fatal("/dev/null is no device any more")
	}
}

func TestSocketAndBlockDevice(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "socket")
	e2e.Must(t, unix.Mknod(socket, unix.S_IFSOCK|0o600, 0))
	wantRefused(t, "socket", socket, Replace)
	block := filepath.Join(dir, "block")
	if err := unix.Mknod(block, unix.S_IFBLK|0o600, int(unix.Mkdev(7, 200))); err != nil {
		t.Skip("no block device to try: ", err)
	}
	wantRefused(t, "block device", block, Replace)
	other := filepath.Join(dir, "same")
	e2e.Must(t, unix.Mknod(other, unix.S_IFBLK|0o600, int(unix.Mkdev(7, 200))))
	wantRefused(t, "same file", block, Replace, other)
}

func TestLongNames(t *testing.T) {
	for _, name := range []string{strings.Repeat("x", 255), strings.Repeat("é", 127), strings.Repeat("x", maxTempBase)} {
		dir := t.TempDir()
		target := mustOpen(t, filepath.Join(dir, name), Refuse)
		if base := filepath.Base(target.Path()); len(base) > 255 || strings.ToValidUTF8(base, "?") != base {
			t.Errorf("temporary name of %d bytes, %q", len(base), base)
		}
		e2e.Must(t, target.Commit())
		livetest.WantFiles(t, dir, name)
	}
}

func TestTempPrefixOfBrokenUTF8(t *testing.T) {
	if n := len(tempPrefix(strings.Repeat("\xff", 300))); n > 255 {
		t.Errorf("%d bytes", n)
	}
}

func TestStaleFilesAreRemoved(t *testing.T) {
	const gone = "2147483646" // above every pid_max
	dir := t.TempDir()
	stay := []string{
		".out.mp4.vidfilter-" + gone + "-short.tmp",
		".out.mp4.vidfilter-" + strconv.Itoa(os.Getppid()) + "-00000000.tmp",
		".out.mp4.vidfilter-x-00000000.tmp",
		".out.mp4x.vidfilter-" + gone + "-00000000.tmp",
	}
	old := put(t, filepath.Join(dir, ".out.mp4.vidfilter-"+strconv.Itoa(os.Getppid())+"-00000001.tmp"), "x")
	e2e.Must(t, os.Chtimes(old, time.Time{}, time.Now().Add(-2*unlocked)))
	ours := ".out.mp4.vidfilter-" + strconv.Itoa(os.Getpid()) + "-00000000.tmp" // of a container's run before
	for _, name := range append(stay, ".out.mp4.vidfilter-"+gone+"-00000000.tmp", ours) {
		put(t, filepath.Join(dir, name), "x")
	}
	target := mustOpen(t, filepath.Join(dir, "out.mp4"), Refuse)
	e2e.Must(t, target.Discard())
	slices.Sort(stay)
	livetest.WantFiles(t, dir, stay...)
}

func TestLockedFilesAreNotStale(t *testing.T) {
	dir := t.TempDir()
	name := put(t, filepath.Join(dir, ".out.mp4.vidfilter-2147483646-00000000.tmp"), "x")
	f, err := os.Open(name)
	e2e.Must(t, err)
	defer f.Close()
	e2e.Must(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
	mustOpen(t, filepath.Join(dir, "out.mp4"), Refuse)
	if _, err := os.Stat(name); err != nil {
		t.Error("a file in use by another container was removed")
	}
}

func TestTargetLocksItsFile(t *testing.T) {
	target := mustOpen(t, filepath.Join(t.TempDir(), "out.mp4"), Refuse)
	removeUnlocked(target.Path())
	if _, err := os.Stat(target.Path()); err != nil {
		t.Error("another run could remove the file in use")
	}
}

func TestTwoTargetsOfOneName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.mp4")
	a, b := mustOpen(t, path, Refuse), mustOpen(t, path, Refuse)
	write(t, a, "a")
	write(t, b, "b")
	e2e.Must(t, b.Commit())
	if err := a.Commit(); !errors.Is(err, ErrOutput) {
		t.Errorf("the second Commit: %v", err)
	}
	e2e.Must(t, a.Discard())
	wantContent(t, path, "b")
	livetest.WantFiles(t, filepath.Dir(path), "out.mp4")
}

func TestTempFileTakenAway(t *testing.T) {
	target := mustOpen(t, filepath.Join(t.TempDir(), "out.mp4"), Refuse)
	e2e.Must(t, os.Remove(target.Path()))
	if err := target.Commit(); !errors.Is(err, ErrOutput) || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("Commit: %v", err)
	}
	e2e.Must(t, target.Discard())
}

func TestOutputErrorWords(t *testing.T) {
	tests := []struct {
		err  error
		want string
	}{
		{syscall.ENOSPC, "disk full, "},
		{syscall.EDQUOT, "disk full, "},
		{fmt.Errorf("av_write_frame: %w", syscall.ENOSPC), "MB free"},
		{syscall.EACCES, "no permission"},
		{syscall.EPERM, "no permission"},
		{syscall.EROFS, "read-only file system"},
		{syscall.EFBIG, "file too large"},
		{syscall.EPIPE, "closed the pipe"},
		{syscall.EBADF, "bad file descriptor"},
		{&os.PathError{Op: "open", Path: "/x", Err: syscall.EBUSY}, `write "out.mp4": device or resource busy`},
		{errors.New("something else"), `write "out.mp4": something else`},
	}
	for _, test := range tests {
		err := OutputError("write", "out.mp4", test.err)
		if !strings.Contains(err.Error(), test.want) || !errors.Is(err, ErrOutput) || !errors.Is(err, test.err) {
			t.Errorf("%v becomes %q, want %q and both wrapped", test.err, err, test.want)
		}
	}
}

func TestOutputErrorPassesOn(t *testing.T) {
	if err := OutputError("write", "x", nil); err != nil {
		t.Error("nil becomes", err)
	}
	first := OutputError("create", "x", syscall.EACCES)
	if err := OutputError("write", "y", first); err != first {
		t.Errorf("wrapped twice: %v", err)
	}
}

func TestFullDevice(t *testing.T) {
	target := mustOpen(t, "/dev/full", Refuse)
	err := os.WriteFile(target.Path(), []byte("x"), 0)
	if err := OutputError("write", "/dev/full", err); !strings.Contains(err.Error(), "disk full") {
		t.Error(err)
	}
}
