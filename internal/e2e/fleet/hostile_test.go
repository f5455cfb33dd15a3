package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream/pki"
	"vidfilter/internal/e2e"
)

// stranger is a client with the rights of the server itself: roles would stop it.
type stranger struct {
	t  *testing.T
	js jetstream.JetStream
}

func newStranger(s *server) *stranger {
	t := s.t
	t.Helper()
	nc := must(must(pki.OpenKept(filepath.Join(s.State, "keys"), pki.Files{})).Dial(s.Listen))
	t.Cleanup(nc.Close)
	return &stranger{t, must(jetstream.New(nc))}
}

// hostileJob is a forged record of a job.
type hostileJob struct {
	key, id, site, task string
	spec                map[string]any
	body                any
}

// puts writes the record, and a message that makes workers read it.
func (s *stranger) puts(j hostileJob) {
	s.t.Helper()
	kind, _, _ := strings.Cut(j.task, "-")
	record := must(json.Marshal(map[string]any{
		"Job":   queue.Job{ID: j.id, Title: j.key + ".mp4", Site: j.site, Spec: must(json.Marshal(j.spec)), First: queue.Task{Name: j.task, Kind: kind, Site: j.site}},
		"State": "running", "Tasks": 1, "epoch": "aaaaaaaaaaaaaaaa", "open": []any{map[string]any{"left": []string{j.task}}},
	}))
	must(must(s.js.KeyValue(s.t.Context(), "vf-jobs")).Put(s.t.Context(), j.key, record))
	body := must(json.Marshal(map[string]any{"job": j.key, "name": j.task, "kind": kind, "site": j.site, "body": j.body}))
	sum := sha256.Sum256([]byte(j.site))
	site := "h_" + hex.EncodeToString(sum[:12])
	if !strings.Contains(j.site, " ") {
		site = "s_" + j.site
	}
	subject := strings.Join([]string{"vf.task.new", site, j.key, "aaaaaaaaaaaaaaaa", j.task}, ".")
	_, err := s.js.Publish(s.t.Context(), subject, body)
	if api, ok := errors.AsType[*jetstream.APIError](err); ok && strings.Contains(api.Description, "per subject") {
		return // the server has found the record and queued the task
	}
	e2e.Must(s.t, err)
}

// trap is a machine's private files.
func trap(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "private")
	e2e.Must(t, os.CopyFS(filepath.Join(dir, "keep"), os.DirFS(madeClips(t))))
	return dir
}

// spec describes a private clip in a job.
func spec(t *testing.T, clip, root, output string, more map[string]any, args ...string) map[string]any {
	t.Helper()
	i, b := must(os.Stat(clip)), e2e.Read(t, clip)
	h := sha256.New() // like batch.FingerprintOf: the size and the beginning, middle and end
	size := i.Size()
	for shift := 56; shift >= 0; shift -= 8 {
		h.Write([]byte{byte(size >> shift)})
	}
	if size > 3<<16 {
		middle := (size - 1<<16) / 2
		b = slices.Concat(b[:1<<16], b[middle:middle+1<<16], b[size-1<<16:])
	}
	h.Write(b)
	file := map[string]any{"size": size, "mtime": i.ModTime().UTC(), "hash": "sha256:" + hex.EncodeToString(h.Sum(nil))}
	s := map[string]any{
		"item":   map[string]any{"Source": clip, "Output": output, "Args": args, "Deciding": args},
		"record": map[string]any{"output": output, "source": clip, "source_file": file, "state": "running", "version": "one"},
		"root":   root, "overwrite": true, "segment": 0, "protocol": queue.Protocol,
	}
	maps.Copy(s, more)
	return s
}

// fails waits until a job has failed for a reason.
func (s *server) fails(key, why string) {
	s.t.Helper()
	e2e.Until(s.t, key+" fails", func() bool {
		for _, j := range jobs(s.t, s).Jobs {
			if j.ID == key && j.State == "failed" {
				if !strings.Contains(j.Reason, why) {
					s.t.Errorf("%s: %q, want %q", key, j.Reason, why)
				}
				return true
			}
		}
		return false
	})
}

// Roles keep others from writing records. Should somebody write one all the same, it must not
// delete, write or read files of workers or batches, nor stop their work.
func TestHostile(t *testing.T) {
	e2e.Start(t, true)
	s := serve(t, filepath.Join(t.TempDir(), "state"), "127.0.0.1:0")
	evil, private := newStranger(s), trap(t)
	before := contents(private)
	shared := filepath.Join(t.TempDir(), "shared")
	e2e.Must(t, os.MkdirAll(filepath.Join(shared, "in"), 0o777))
	for link, to := range map[string]string{"out": private, "in/link.mp4": private + "/keep/long.mp4"} {
		e2e.Must(t, os.Symlink(to, filepath.Join(shared, link)))
	}
	dir, in, out := t.TempDir(), clips(t), filepath.Join(t.TempDir(), "out")
	w := s.worker(dir, "--shared", shared, "--creds", s.Submitter)
	b := s.batch(in, out, "--watch", t.TempDir()) // it stays
	b.Says("watching")
	clip, parts := private+"/keep/other.mov", "parts-p1"
	site, common := siteIn(t, out+"/.vidfilter/site"), siteIn(t, shared+"/.vidfilter-site")
	remote := map[string]any{"remote": true}
	for _, on := range []struct{ name, site string }{{"parts", parts}, {"shared", common}, {"client", site}} {
		evil.puts(hostileJob{on.name + "-up", "../../../private/keep", on.site, "whole", spec(t, clip, "/", private+"/x.mp4", nil), nil})
		evil.puts(hostileJob{on.name + "-root", on.name + "-root", on.site, "whole", spec(t, clip, private, "x.mp4", nil), nil})
		evil.puts(hostileJob{on.name + "-cut", on.name + "-cut", on.site, "cut-0000", spec(t, clip, out, "x.mp4", remote), part{0, 1 << 40, 75, ""}})
		evil.puts(hostileJob{on.name + "-part", on.name + "-part", on.site, "part-0000", spec(t, clip, out, "x.mp4", remote), part{0, 1 << 40, 75, ""}})
		evil.puts(hostileJob{on.name + "-args", on.name + "-args", on.site, "part-0000",
			spec(t, clip, out, "x.mp4", remote, "--output="+private+"/x.mp4"), part{0, 1 << 40, 75, ""}})
	}
	evil.puts(hostileJob{"link-out", "link-out", common, "whole", spec(t, shared+"/in/link.mp4", shared+"/out", "x.mp4", map[string]any{"shared": shared}), nil})
	for _, on := range []string{"parts", "shared", "client"} {
		s.fails(on+"-up", `names the job "../../../private/keep"`)
		for _, what := range []string{"-root", "-cut", "-part", "-args"} {
			s.fails(on+what, "refused")
		}
	}
	s.fails("link-out", "escapes")
	b.Says("done: long.mp4")
	b.Says("done: other.mov")
	b.Signal(syscall.SIGINT)
	b.exit(130)
	whole(t, out)
	if after := contents(private); !maps.Equal(before, after) {
		t.Errorf("in the private folder are %v, were %v", slices.Sorted(maps.Keys(after)), slices.Sorted(maps.Keys(before)))
	}
	storeIsEmpty(t, s.engine())
	w.ended(dir)
}

type part struct {
	Start  int64  `json:"start"`
	End    int64  `json:"end"`
	Frames int64  `json:"frames"`
	Blob   string `json:"blob,omitempty"`
}

// contents returns the hashes of a folder's files.
func contents(dir string) map[string]string { return must(outputs(dir)) }

// siteIn reads the site whose tasks touch the files of a batch or of a shared folder.
func siteIn(t *testing.T, file string) string {
	t.Helper()
	return strings.TrimSpace(string(e2e.Read(t, file))) + "-p1"
}
