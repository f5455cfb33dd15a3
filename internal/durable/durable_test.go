package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"vidfilter/internal/e2e"
)

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	e2e.Must(t, err)
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func TestRenameNewNeverReplaces(t *testing.T) {
	for name, rename := range map[string]func(from, to string) error{
		"renameat2": RenameNew, "link": linkNew, "check": checkAndRename,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
			e2e.Must(t, os.WriteFile(a, []byte("a"), 0o600))
			e2e.Must(t, os.WriteFile(b, []byte("b"), 0o600))
			if err := rename(a, b); !errors.Is(err, fs.ErrExist) {
				t.Errorf("over a file: %v, want ErrExist", err)
			}
			e2e.Must(t, rename(a, filepath.Join(dir, "c")))
			if got := names(t, dir); len(got) != 2 || got[0] != "b" || got[1] != "c" {
				t.Errorf("left: %v", got)
			}
		})
	}
}

func TestWriteFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	e2e.Must(t, MkdirAll(dir))
	e2e.Must(t, MkdirAll(dir))
	name := filepath.Join(dir, "f")
	for _, text := range []string{"longer at first", "short"} {
		e2e.Must(t, WriteFile(name, []byte(text)))
		if got, err := os.ReadFile(name); err != nil || string(got) != text {
			t.Errorf("read %q, %v", got, err)
		}
	}
	if got := names(t, dir); len(got) != 1 {
		t.Errorf("left: %v", got)
	}
	e2e.Must(t, os.Mkdir(filepath.Join(dir, "taken"), 0o700))
	if err := WriteFile(filepath.Join(dir, "taken"), nil); err == nil {
		t.Error("a folder was replaced")
	}
	if got := names(t, dir); len(got) != 2 {
		t.Errorf("left after a failure: %v", got)
	}
	if err := MkdirAll(filepath.Join(name, "below")); err == nil {
		t.Error("a folder was made below a file")
	}
}

func TestModes(t *testing.T) {
	dir := t.TempDir()
	for name, write := range map[string]func(string, []byte) error{"public": WriteFile, "secret": WriteSecret} {
		e2e.Must(t, write(filepath.Join(dir, name), nil))
	}
	for name, want := range map[string]os.FileMode{"public": 0o644, "secret": 0o600} {
		i, err := os.Stat(filepath.Join(dir, name))
		e2e.Must(t, err)
		if got := i.Mode(); got != want {
			t.Errorf("%s: mode %v, want %v", name, got, want)
		}
	}
}

func TestSpace(t *testing.T) {
	dir := t.TempDir()
	free, total, err := Space(dir)
	e2e.Must(t, err)
	if free <= 0 || total < free {
		t.Errorf("%d of %d", free, total)
	}
	_, below, err := Space(filepath.Join(dir, "not", "yet"))
	e2e.Must(t, err)
	if below != total {
		t.Errorf("below: %d, want %d", below, total)
	}
	file := filepath.Join(dir, "file")
	e2e.Must(t, os.WriteFile(file, nil, 0o666))
	if _, _, err := Space(filepath.Join(file, "x")); err == nil {
		t.Error("no error below a file")
	}
}
