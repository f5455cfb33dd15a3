package batch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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

const killItems = 40

func killItem(dir string, i int) (item Item, temp, text string) {
	item = Item{Source: filepath.Join(dir, "source"), Output: fmt.Sprintf("d%d/%02d.mkv", i%3, i)}
	return item, filepath.Join(dir, "out", fmt.Sprintf(".%02d.temp", i)), fmt.Sprintf("result %d", i)
}

// finishAll is a batch with only the last steps left: for each item it makes the missing file and
// finishes it.
func finishAll(dir string) (steps int, err error) {
	root := filepath.Join(dir, "out")
	for i := range killItems {
		item, temp, text := killItem(dir, i)
		f, err := Check(root, item, Program{Version: version})
		if err != nil {
			return steps, err
		}
		switch f.Verdict {
		case Done:
			continue
		case Interrupted:
			_, err = Resume(Outputs{Root: root}, *f.Record, false)
		case New:
			r := Begin(item, f, version, time.Now())
			if err = WriteRecord(root, r); err == nil {
				err = os.WriteFile(temp, []byte(text), 0o644)
			}
			if err == nil {
				_, err = Finish(Outputs{Root: root}, r, temp, false)
			}
		default:
			err = fmt.Errorf("%s: %s (%s)", item.Output, f.Verdict, f.Reason)
		}
		if err != nil {
			return steps, err
		}
		steps++
	}
	return steps, nil
}

// However often it is killed, every output is whole and made once.
func TestKilled(t *testing.T) {
	dir := tree(t, "source")
	root := filepath.Join(dir, "out")
	e2e.Must(t, os.Mkdir(root, 0o755))
	inodes := map[string]inode{}
	for range 25 {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "BATCH_TEST_FINISH="+dir)
		e2e.Must(t, c.Start())
		time.Sleep(time.Duration(rand.IntN(40)) * time.Millisecond)
		_ = c.Process.Kill()
		if err := c.Wait(); err != nil && err.Error() != "signal: killed" {
			t.Fatal(err)
		}
		t.Logf("%d of %d are done", wantWhole(t, dir, inodes), killItems)
	}
	e2e.Must(t, Tidy(root))
	if _, err := finishAll(dir); err != nil {
		t.Fatal(err)
	}
	e2e.Must(t, filepath.WalkDir(jobsDir(root), func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(name) != ".json" {
			t.Errorf("%s is left", name)
		}
		return err
	}))
	if n := wantWhole(t, dir, inodes); n != killItems {
		t.Errorf("%d outputs, want %d", n, killItems)
	}
	if steps, err := finishAll(dir); steps != 0 || err != nil {
		t.Errorf("%d were done again, %v", steps, err)
	}
}

// wantWhole counts the outputs and checks that each is complete and was never replaced.
func wantWhole(t *testing.T, dir string, inodes map[string]inode) (n int) {
	t.Helper()
	for i := range killItems {
		item, _, text := killItem(dir, i)
		name := item.OutputPath(filepath.Join(dir, "out"))
		if !exists(name) {
			if _, was := inodes[name]; was {
				t.Errorf("%s is gone", item.Output)
			}
			continue
		}
		n++
		if got, err := os.ReadFile(name); err != nil || string(got) != text {
			t.Errorf("%s is %q, %v", item.Output, got, err)
		}
		id := inodeOf(stat(t, name))
		if old, was := inodes[name]; was && old != id {
			t.Errorf("%s was made twice", item.Output)
		}
		inodes[name] = id
	}
	return n
}
