package batch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vidfilter/internal/e2e"
)

// A link in the place of any folder on the way leads no output out of the folder that it must stay
// in, whenever it was put there; one that stays inside is followed.
func TestOutputsStayWithin(t *testing.T) {
	for _, swapped := range []string{"share/out", "share/out/sub", "share/out/.vidfilter", "share/out/.vidfilter/jobs", "share/out/.vidfilter/jobs/sub", "share/out/work"} {
		for _, step := range []string{"", afterFinishing, afterRename} {
			for _, inside := range []bool{false, true} {
				t.Run(swapped+" "+step, func(t *testing.T) {
					dir := tree(t, "source", "victim/old", "share/other/old", "share/out/work/a.temp", "share/out/sub/old")
					root := filepath.Join(dir, "share", "out")
					r := Begin(Item{Source: filepath.Join(dir, "source"), Output: "sub/a.mkv"}, Finding{Digest: "d"}, version, time.Now())
					var err error
					r.SourceFile, err = FingerprintOf(r.Source)
					e2e.Must(t, err)
					e2e.Must(t, WriteRecord(root, r))
					f := newFinisher(Outputs{Root: root, Within: filepath.Join(dir, "share")}, false)
					swap := func(at string) error {
						if at == step {
							to := filepath.Join(dir, "victim")
							if inside { // such links are relative
								up := strings.Repeat("../", strings.Count(swapped, "/")-1)
								to = up + "other"
								e2e.Must(t, os.Rename(filepath.Join(dir, swapped), filepath.Join(dir, "share/was")))
								e2e.Must(t, os.Remove(filepath.Join(dir, "share/other/old")))
								e2e.Must(t, os.Remove(filepath.Join(dir, "share/other")))
								e2e.Must(t, os.Rename(filepath.Join(dir, "share/was"), filepath.Join(dir, "share/other")))
							} else {
								e2e.Must(t, os.RemoveAll(filepath.Join(dir, swapped)))
							}
							e2e.Must(t, os.Symlink(to, filepath.Join(dir, swapped)))
						}
						return nil
					}
					f.stop = swap
					e2e.Must(t, swap(""))
					_, err = f.finish(r, filepath.Join(root, "work", "a.temp"))
					if inside && (err != nil || !exists(filepath.Join(root, "sub/a.mkv"))) {
						t.Errorf("inside: %v", err)
					}
					names, e := os.ReadDir(filepath.Join(dir, "victim"))
					if e2e.Must(t, e); len(names) != 1 {
						t.Errorf("%v is outside; %v", names, err)
					}
				})
			}
		}
	}
}
