// Package batch tests batches of the built program: it kills them, fills their disks and changes
// their files.
package batch

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
)

func TestMain(m *testing.M) { e2e.Main(m, 3) }

// patient skips a test that others nearly cover, except in the long run: see TestKilled.
func patient(t *testing.T) {
	t.Helper()
	if os.Getenv("VIDFILTER_KILLS") == "" {
		t.Skip("of the long run: VIDFILTER_KILLS=100")
	}
}

// The clips by name: ffmpeg's arguments between the source and the name. Most are cut into parts
// of a second.
var recipes = map[string]string{
	"a.mp4":     "-t 4 -c:v libx264 -g 12 -c:a aac",
	"b.mkv":     "-t 5 -c:v libx264 -g 25 -bf 2 -c:a libopus",
	"c.mov":     "-t 3 -c:v libx264 -g 20 -bf 0 -c:a pcm_s16le",
	"short.mp4": "-t 0.6 -c:v libx264 -c:a aac",
	"long.mp4":  "-t 20 -c:v libx264 -g 25 -c:a aac",
}

// clip returns the path of a clip, which no test may change.
func clip(t *testing.T, name string) string {
	t.Helper()
	return e2e.Clip(t, name, "-f lavfi -i testsrc2=s=160x120:r=25 -f lavfi -i sine=300 -vf noise=alls=12:allf=t,format=yuv420p "+recipes[name])
}

// folder returns a new folder with copies of clips: "a.mp4", or "new.mp4=a.mp4" under another
// name.
func folder(t *testing.T, names ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "in")
	e2e.Must(t, os.Mkdir(dir, 0o777))
	for _, name := range names {
		as, name, renamed := strings.Cut(name, "=")
		if !renamed {
			name = as
		}
		e2e.Put(t, filepath.Join(dir, as), e2e.Read(t, clip(t, name)))
	}
	return dir
}

func hash(data []byte) string {
	if bytes.HasPrefix(data, []byte{0x1a, 0x45, 0xdf, 0xa3}) {
		data = nameless(data)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// nameless clears a Matroska file's random identifiers and the checksums over them.
func nameless(data []byte) []byte {
	data = bytes.Clone(data)
	for _, id := range []struct {
		head string
		size int
	}{{"\x73\xa4\x90", 16}, {"\x73\xc5\x88", 8}, {"\x63\xc5\x88", 8}, {"\xbf\x84", 4}} {
		for rest := data; ; {
			i := bytes.Index(rest, []byte(id.head))
			if i < 0 || i+len(id.head)+id.size > len(rest) {
				break
			}
			rest = rest[i+len(id.head):]
			clear(rest[:id.size])
		}
	}
	return data
}

// state is a file's content and time.
type state struct{ hash, time string }

// files returns the files of a folder by name, without the batch's own.
func files(t *testing.T, dir string) map[string]state {
	t.Helper()
	all := map[string]state{}
	e2e.Must(t, filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() == ".vidfilter" {
				return filepath.SkipDir
			}
			return nil
		}
		i, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		all[rel] = state{hash(e2e.Read(t, name)), i.ModTime().String()}
		return nil
	}))
	return all
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name, s := range files(t, dir) {
		all[name] = s.hash
	}
	return all
}

// untouched returns a function that fails the test if the folder has changed.
func untouched(t *testing.T, dir string) func() {
	t.Helper()
	before := files(t, dir)
	return func() {
		t.Helper()
		if now := files(t, dir); !maps.Equal(before, now) {
			t.Errorf("sources were touched:\n%v\nwere\n%v", now, before)
		}
	}
}

// same fails the test unless a folder has exactly these outputs and no file that is left behind.
func same(t *testing.T, out string, want map[string]string) {
	t.Helper()
	if got := contents(t, out); !maps.Equal(got, want) {
		t.Errorf("in %s are %v instead of %v", out, got, want)
	}
	tidy(t, out)
}

// tidy fails the test if finished work has left files behind.
func tidy(t *testing.T, out string) {
	t.Helper()
	e2e.Must(t, filepath.WalkDir(out, func(name string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(out, name)
		if strings.HasPrefix(rel, ".vidfilter/queue/") { // the engine's
			return nil
		}
		below := strings.HasPrefix(rel, ".vidfilter/work/")
		if below || strings.Contains(d.Name(), ".tmp") || strings.HasPrefix(d.Name(), ".vidfilter-") {
			t.Errorf("left: %s", rel)
		}
		return nil
	}))
}

// playable fails the test unless ffmpeg decodes a file to its end without a message.
func playable(t *testing.T, name string) {
	t.Helper()
	_, said, err := e2e.Output("ffmpeg", "-v", "error", "-xerror", "-nostdin", "-threads", "1", "-i", name, "-f", "null", "-")
	if err != nil || len(said) > 0 {
		t.Errorf("%s: %v: %s", name, err, said)
	}
}
