package batch

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vidfilter/internal/e2e"
	"vidfilter/internal/hint"
)

// TestMain lets the test program be the other batch.
func TestMain(m *testing.M) {
	if root := os.Getenv("BATCH_TEST_LOCK"); root != "" {
		if _, err := TryLock(root); err != nil {
			os.Exit(1)
		}
		os.Stdout.WriteString("locked\n")
		time.Sleep(time.Minute)
	}
	if dir := os.Getenv("BATCH_TEST_FINISH"); dir != "" {
		if _, err := finishAll(dir); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func otherBatch(t *testing.T, root string) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "BATCH_TEST_LOCK="+root)
	out, err := c.StdoutPipe()
	e2e.Must(t, err)
	e2e.Must(t, c.Start())
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "locked\n" {
		t.Fatalf("%q, %v", line, err)
	}
	return c
}

func TestLock(t *testing.T) {
	root := filepath.Join(t.TempDir(), "new", "root")
	other := otherBatch(t, root)
	_, err := TryLock(root)
	var locked *LockedError
	if !errors.As(err, &locked) || locked.Holder.PID != other.Process.Pid || time.Since(locked.Holder.Since) > time.Minute {
		t.Fatalf("got %v, want locked by %d", err, other.Process.Pid)
	}
	host, _ := os.Hostname()
	if !strings.Contains(err.Error(), host) || hint.Of(err) == "" {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := WaitLock(ctx, root, func(*LockedError) {}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting: %v", err)
	}

	waited := 0
	l, err := WaitLock(context.Background(), root, func(h *LockedError) {
		waited++
		e2e.Must(t, other.Process.Kill()) // as kill -9 does
		other.Wait()
	})
	e2e.Must(t, err)
	if waited != 1 {
		t.Errorf("told %d times", waited)
	}
	if _, err := TryLock(root); !errors.As(err, &locked) || locked.Holder.PID != os.Getpid() {
		t.Errorf("locked twice: %v", err)
	}
	l.Unlock()
	l.Unlock()
	l, err = TryLock(root)
	e2e.Must(t, err)
	l.Unlock()
	if _, err := WaitLock(context.Background(), put(t, "", root, "file"), nil); err == nil || errors.As(err, &locked) && locked.Root != root {
		t.Errorf("a file as a root: %v", err)
	}
}

// A batch notices when its folder goes, even if another takes its place.
func TestLockCheck(t *testing.T) {
	root := filepath.Join(t.TempDir(), "out")
	l, err := TryLock(root)
	e2e.Must(t, err)
	defer l.Unlock()
	e2e.Must(t, l.Check())
	e2e.Must(t, os.Rename(root, root+"2"))
	if err := l.Check(); !errors.Is(err, ErrFolderGone) {
		t.Errorf("moved away: %v", err)
	}
	other, err := TryLock(root)
	e2e.Must(t, err)
	defer other.Unlock()
	if err := l.Check(); !errors.Is(err, ErrFolderGone) {
		t.Errorf("another in its place: %v", err)
	}
}
