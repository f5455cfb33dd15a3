package batch

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"vidfilter/internal/e2e"
)

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

// wantWhole counts the outputs and checks that none is partial or was replaced.
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
