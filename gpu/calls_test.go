package gpu

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vidfilter/denoise"
	"vidfilter/gpu/testdriver"
	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// jobs are runs of each filter. A job returns the error it ended with, nil if its result is
// complete, and fails the test if a picture is wrong or a frame does not come back.
var jobs = map[string]func(t *testing.T) error{
	"bilateral": func(t *testing.T) error {
		return runFilter(t, Options{Streams: 2}, kernels.DefaultBilateral(2))
	},
	"recursive": func(t *testing.T) error { return runFilter(t, Options{}, kernels.DefaultRecursive()) },
	"two devices": func(t *testing.T) error {
		return runFilter(t, Options{All: true}, kernels.DefaultBilateral(5))
	},
	"denoise": func(t *testing.T) error {
		return runDenoise(t, Options{}, func(b *Backend, o denoise.Options, c noisyClip) ([][]byte, error) { return onDevice(b, o, c) })
	},
	"denoise in turn": func(t *testing.T) error {
		return runDenoise(t, Options{All: true}, func(b *Backend, o denoise.Options, c noisyClip) ([][]byte, error) {
			return inTurn(b, 2, o, c)
		})
	},
	"deinterlace": func(t *testing.T) error { return runInterlace(t) },
}

// patient is less than a test's limit, and more than a busy machine needs.
const patient = 10 * time.Second

func runFilter(t *testing.T, o Options, p kernels.Planned) (err error) {
	o.Patience = patient
	b, err := Open(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	film := newFilm(t, b, smallFormat, 5)
	defer film.close(t)
	s := &screen{t: t, answers: film.answers(t, p)}
	err = show(t, context.Background(), b, film, s, p, 2+b.Held(p))
	if err == nil && s.seen != 5 {
		t.Errorf("%d frames of 5, and no error", s.seen)
	}
	return err
}

func runDenoise(t *testing.T, o Options, filter func(*Backend, denoise.Options, noisyClip) ([][]byte, error)) (err error) {
	o.Patience = patient
	b, err := Open(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	clip, settings := noisyClip{yuv(pipeline.YUV420P, 40, 32), 6, false}, denoiseOptions(denoise.Fast)
	got, err := filter(b, settings, clip)
	if strings.Contains(fmt.Sprint(err), "not released") {
		t.Error(err)
	}
	if err == nil && len(got) != clip.frames {
		t.Errorf("%d frames of %d, and no error", len(got), clip.frames)
	}
	if len(got) > 0 {
		agree(t, got, plainly(t, settings, clip)[:len(got)])
	}
	return err
}

// TestEachCall has each call of a job fail once, and each allocation run out of memory once. The
// job ends with a device error that names the operation, or its result is complete. It frees all
// memory. VIDFILTER_FAULTS=1 takes all positions. Otherwise a few calls of each job fail, and the
// first of each function for two of them.
func TestEachCall(t *testing.T) {
	for name, job := range jobs {
		t.Run(name, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "log")
			if onDriver(t, "log="+log) { // the child of any of these calls goes on here
				checkFault(t, job(t))
				return
			}
			calls := callsOf(t, log)
			t.Logf("%d calls of %d functions", len(calls), len(slices.Compact(slices.Sorted(slices.Values(calls)))))
			all, step := os.Getenv("VIDFILTER_FAULTS") != "", max(1, len(calls)/2)
			for i, function := range calls {
				first := !testing.Short() && slices.Index(calls, function) == i && (name == "two devices" || name == "denoise")
				if all || first || i%step == 0 {
					onDriver(t, fmt.Sprintf("call=%d", i+1))
				}
			}
			for option, function := range map[string]string{"alloc": "cuMemAlloc", "hostalloc": "cuMemHostRegister"} {
				for at, n := 1, count(calls, function); all && at <= n; at++ {
					onDriver(t, fmt.Sprintf("%s=%d", option, at))
				}
			}
		})
	}
}

func checkFault(t *testing.T, err error) {
	options := os.Getenv(testdriver.Variable)
	var e *Error
	switch {
	case err == nil:
	case strings.HasPrefix(options, "log="):
		t.Error(err)
	case !errors.Is(err, ErrDevice) || !errors.As(err, &e) || e.Op == "":
		t.Errorf("error %v", err)
	}
}

// callsOf returns the functions of the calls in a driver's log, without cuInit.
func callsOf(t *testing.T, log string) (all []string) {
	t.Helper()
	f, err := os.Open(log)
	e2e.Must(t, err)
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, _, _ := strings.Cut(lines.Text(), " "); name != "run" && name != "cuInit" {
			all = append(all, name)
		}
	}
	return all
}

func count(calls []string, function string) (n int) {
	for _, name := range calls {
		if name == function {
			n++
		}
	}
	return n
}
