// Package install tests that the packages install, run and go again in a fresh Debian.
package install

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"vidfilter/internal/e2e"
)

func TestMain(m *testing.M) { e2e.Main(m, 1) }

const scripts = "../../../scripts/"

// run returns the output of a command. Its error ends the test.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "XZ_LEVEL=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, &stderr)
	}
	return strings.TrimSpace(string(out))
}

// needsRoot skips a test that cannot change its root folder.
func needsRoot(t *testing.T, programs ...string) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short")
	}
	e2e.Note(t)
	e2e.Needs(t, programs...)
	if os.Getuid() != 0 {
		t.Skip("needs root, to make a fresh Debian and run programs in it")
	}
}

// machine is the root folder of a fresh Debian.
type machine struct{ dir string }

func newMachine(t *testing.T) machine {
	t.Helper()
	m := machine{t.TempDir()}
	e2e.Must(t, os.Chmod(m.dir, 0o755))
	run(t, "tar", "-C", m.dir, "-xf", run(t, scripts+"debian.sh"))
	return m
}

// run runs a script in the machine.
func (m machine) run(t *testing.T, script string) string {
	t.Helper()
	return run(t, "env", "-i", "PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"unshare", "--mount", "--root="+m.dir, "--mount-proc", "bash", "-ec", "cd /tmp; "+script)
}

// put copies files and folders to a folder below /tmp in the machine.
func (m machine) put(t *testing.T, folder string, files ...string) {
	t.Helper()
	folder = m.dir + "/tmp/" + folder
	e2e.Must(t, os.MkdirAll(folder, 0o777))
	run(t, "cp", slices.Concat([]string{"-R"}, files, []string{folder})...)
}

func (m machine) read(t *testing.T, name string) string {
	t.Helper()
	text := e2e.Read(t, filepath.Join(m.dir, name))
	return string(text)
}

// listing returns all files of a folder, except for work folders and dpkg's records.
func listing(t *testing.T, dir string) (names []string) {
	t.Helper()
	e2e.Must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, dir)
		switch {
		case err != nil:
			return err
		case slices.Contains([]string{"/tmp", "/proc", "/var/lib/dpkg", "/var/cache", "/var/log"}, name):
			return fs.SkipDir
		case !d.IsDir():
			names = append(names, name)
		}
		return nil
	}))
	return names
}

func sameFiles(t *testing.T, what string, got, want []string) {
	t.Helper()
	for _, f := range got {
		if !slices.Contains(want, f) {
			t.Errorf("%s: %s is there, unexpected", what, f)
		}
	}
	for _, f := range want {
		if !slices.Contains(got, f) {
			t.Errorf("%s: %s is missing", what, f)
		}
	}
}

// checkInstalled tests an installation below a prefix.
func checkInstalled(t *testing.T, m machine, prefix, zsh string) {
	t.Helper()
	m.put(t, "", "../../../samples/noisy.mp4")
	if info := m.run(t, "vidfilter noisy.mp4 -o out.mkv --frames 2 && vidfilter info out.mkv"); !strings.Contains(info, "h264") {
		t.Errorf("the filtered video: %s", info)
	}
	page, err := gzip.NewReader(strings.NewReader(m.read(t, prefix+"/share/man/man1/vidfilter.1.gz")))
	e2e.Must(t, err)
	if text, err := io.ReadAll(page); err != nil || !bytes.Contains(text, []byte(`.TH "VIDFILTER" "1"`)) {
		t.Errorf("the manual page: %v, %.100s", err, text)
	}
	// The library of bash-completion, which sets these, is not in a fresh Debian.
	got := m.run(t, `vidfilter __complete --streng >/dev/null
		_init_completion() { words=(vidfilter --streng); cword=1 cur=--streng prev=vidfilter; }
		compopt() { :; }; source `+prefix+`/share/bash-completion/completions/vidfilter; __start_vidfilter; echo "${COMPREPLY[@]}"`)
	if !strings.Contains(got, "--strength") {
		t.Errorf("bash completes --streng as %q", got)
	}
	for name, want := range map[string]string{zsh: "#compdef vidfilter", "fish/vendor_completions.d/vidfilter.fish": "complete -c vidfilter"} {
		if !strings.Contains(m.read(t, prefix+"/share/"+name), want) {
			t.Errorf("%s has no %q", name, want)
		}
	}
	for _, unit := range []string{"vidfilter-serve.service", "vidfilter-worker.service", "vidfilter-agent.service"} {
		if out := run(t, "systemd-analyze", "verify", "--root="+m.dir, "--man=no", "--recursive-errors=no", prefix+"/lib/systemd/system/"+unit); out != "" {
			t.Errorf("%s: %s", unit, out)
		}
	}
	licenses := m.run(t, "vidfilter version --licenses")
	if licenses != strings.TrimSpace(m.read(t, prefix+"/share/doc/vidfilter/copyright")) {
		t.Error("share/doc/vidfilter/copyright differs from vidfilter version --licenses")
	}
	modules := regexp.MustCompile(`(?m)^\tdep\t(\S+)\t(\S+)`).FindAllStringSubmatch(run(t, "go", "version", "-m", m.dir+prefix+"/bin/vidfilter"), -1)
	if len(modules) < 10 {
		t.Errorf("the program consists of %d modules", len(modules))
	}
	for _, mod := range modules {
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(mod[1]) + ` +` + regexp.QuoteMeta(mod[2]) + ` +\S`).MatchString(licenses) {
			t.Errorf("the licences lack %s %s: run make licenses", mod[1], mod[2])
		}
	}
}

var pack sync.Mutex

// deb returns the path of the package, in a folder of its own.
func deb(t *testing.T) string {
	t.Helper()
	pack.Lock()
	defer pack.Unlock()
	folder := filepath.Join(e2e.Work, "deb")
	if names, _ := filepath.Glob(folder + "/*.deb"); names != nil {
		return names[0]
	}
	e2e.Must(t, os.MkdirAll(folder, 0o755))
	return run(t, scripts+"package.sh", "deb", e2e.Program, lib(t), folder)
}

var lib = func() func(t *testing.T) string {
	var once sync.Once
	return func(t *testing.T) string {
		t.Helper()
		folder := filepath.Join(e2e.Work, "lib")
		once.Do(func() { run(t, scripts+"lib.sh", folder) })
		return folder
	}
}()

// checkLibrary compiles the example in C against the installed files, and runs it in the machine.
func checkLibrary(t *testing.T, m machine, prefix string) {
	t.Helper()
	flags := run(t, "env", "PKG_CONFIG_LIBDIR="+m.dir+prefix+"/lib/pkgconfig", "PKG_CONFIG_SYSROOT_DIR="+m.dir,
		"PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1", "PKG_CONFIG_ALLOW_SYSTEM_LIBS=1", "pkg-config", "--cflags", "--libs", "vidfilter")
	run(t, "gcc", append([]string{"-o", m.dir + "/tmp/denoise", "../../../capi/example/denoise.c"}, strings.Fields(flags)...)...)
	m.run(t, "vidfilter noisy.mp4 -o in.y4m --frames 2 -r 0 && ./denoise <in.y4m >out.y4m && ! cmp -s in.y4m out.y4m")
	if a, b := m.read(t, "tmp/in.y4m"), m.read(t, "tmp/out.y4m"); len(a) == 0 || len(a) != len(b) {
		t.Errorf("the example in C made %d bytes of %d", len(b), len(a))
	}
	for _, plugin := range []string{"frei0r-1", "vapoursynth"} {
		if needs := m.run(t, "ldd "+prefix+"/lib/"+plugin+"/vidfilter.so"); !strings.Contains(needs, "libvidfilter.so.1 => "+prefix+"/lib/") {
			t.Errorf("the plugin for %s needs %s", plugin, needs)
		}
	}
}

// TestDeb installs the package, runs it, and removes it.
func TestDeb(t *testing.T) {
	needsRoot(t, "debootstrap", "systemd-analyze")
	t.Parallel()
	m := newMachine(t)
	before := listing(t, m.dir)
	m.put(t, "", deb(t))
	m.run(t, "dpkg -i *.deb && dpkg --verify vidfilter")
	checkInstalled(t, m, "/usr", "zsh/vendor-completions/_vidfilter")
	checkLibrary(t, m, "/usr")
	m.run(t, "dpkg -P vidfilter")
	sameFiles(t, "after the removal", listing(t, m.dir), before)
}

// TestDist installs the archive, compares it with make install, and removes both.
func TestDist(t *testing.T) {
	needsRoot(t, "debootstrap", "systemd-analyze")
	t.Parallel()
	archive := run(t, scripts+"package.sh", "dist", e2e.Program, lib(t), t.TempDir())
	m := newMachine(t)
	before := listing(t, m.dir)
	run(t, "tar", "-C", m.dir+"/tmp", "--strip-components=1", "-xf", archive)
	readme := m.read(t, "tmp/README")
	commands := regexp.MustCompile(`(?m)^    (.*)$`).FindAllStringSubmatch(strings.ReplaceAll(readme, "sudo ", ""), -1)
	if len(commands) != 2 {
		t.Fatalf("README has %d commands: %s", len(commands), readme)
	}
	m.run(t, commands[0][1])
	checkInstalled(t, m, "/usr/local", "zsh/site-functions/_vidfilter")
	checkLibrary(t, m, "/usr/local")

	here := t.TempDir()
	run(t, scripts+"package.sh", "install", e2e.Program, lib(t), "/usr/local", here)
	for _, folder := range []string{"bin", "include", "lib", "share"} {
		run(t, "diff", "-r", here+"/usr/local/"+folder, m.dir+"/tmp/"+folder)
	}
	run(t, scripts+"package.sh", "uninstall", "/usr/local", here)
	sameFiles(t, "after make uninstall", listing(t, here), nil)
	m.run(t, commands[1][1])
	sameFiles(t, "after the removal", listing(t, m.dir), before)
}

// TestImage builds deploy/Containerfile on the fresh Debian, since no registry is needed for that,
// and runs a job in it.
func TestImage(t *testing.T) {
	needsRoot(t, "debootstrap", "buildah")
	t.Parallel()
	work, context := t.TempDir(), filepath.Dir(deb(t))
	buildah := func(args ...string) string {
		t.Helper()
		return run(t, "buildah", append([]string{"--storage-driver=vfs", "--root=" + work + "/store", "--runroot=" + work + "/run"}, args...)...)
	}
	base := buildah("from", "scratch")
	buildah("add", "-q", base, run(t, scripts+"debian.sh"), "/")
	buildah("commit", "-q", "--rm", base, "localhost/debian")
	buildah("build", "--isolation=chroot", "--build-arg=BASE=localhost/debian", "-f", "../../../deploy/Containerfile", "-t", "vidfilter", context)
	if env := buildah("inspect", "--type=image", "--format={{.OCIv1.Config.Env}} {{.OCIv1.Config.Entrypoint}} {{.OCIv1.Config.User}}", "vidfilter"); !strings.Contains(env, "NVIDIA_DRIVER_CAPABILITIES=compute,video,utility") || !strings.HasSuffix(env, "[vidfilter] 10001:10001") {
		t.Errorf("the image: %s", env)
	}
	image := buildah("from", "--pull-never", "vidfilter")
	buildah("copy", image, "../../../samples/noisy.mp4", "/videos/")
	out := buildah("run", "--isolation=chroot", image, "--", "sh", "-ec", "id -u; vidfilter noisy.mp4 -o out.mkv --frames 2; vidfilter info out.mkv")
	if !strings.HasPrefix(out, "10001\n") || !strings.Contains(out, "h264") {
		t.Errorf("in the container: %s", out)
	}
}

// TestVersions: a package replaces older ones only if Debian orders the versions as git does.
func TestVersions(t *testing.T) {
	e2e.Needs(t, "dpkg")
	described := []string{"94f516c1", "v0.9", "v1.0-rc1", "v1.0-rc1-2-g94f516c1", "v1.0-rc2", "v1.0", "v1.0-3-g94f516c1", "v1.0-3-g94f516c1-dirty", "v1.0-12-g04f516c1", "v1.0.1", "v1.10"}
	for i := range described[1:] {
		a, b := run(t, scripts+"package.sh", "version", described[i]), run(t, scripts+"package.sh", "version", described[i+1])
		run(t, "dpkg", "--compare-versions", a, "lt", b)
	}
}
