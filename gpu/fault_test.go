package gpu

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"vidfilter/internal/terminal"
	"vidfilter/kernels"
)

// runFault shows eight frames on a driver with a fault and returns the outcome. In any case, every
// frame must come back, soon.
func runFault(t *testing.T, o Options) (frames int, err error) {
	t.Helper()
	b, err := Open(o)
	if err != nil {
		return 0, err
	}
	defer b.Close()
	film := newFilm(t, b, smallFormat, 8)
	defer film.close(t)
	s := &screen{t: t, answers: film.answers(t, kernels.DefaultBilateral(2))}
	began := time.Now()
	err = show(t, context.Background(), b, film, s, kernels.DefaultBilateral(2), 2+b.held())
	if d := time.Since(began); d > 20*time.Second { // less than the patience
		t.Errorf("took %v", d)
	}
	return s.seen, err
}

// TestFaults: a device failure ends the run with an error that names the operation, the device and
// the frame format.
func TestFaults(t *testing.T) {
	for _, test := range []struct{ driver, want string }{
		{"alloc=1", "gpu: allocate 0.0 MB on cuda:0, of which 2147.5 MB are free: out of memory"},
		{"alloc=2", "gpu: allocate 0.0 MB on cuda:0, of which 2147.5 MB are free: out of memory"},
		{"hostalloc=1+", "MB are free: out of memory"},
		{"launch=1", " on cuda:0, yuv420p 70x46: the kernel failed on the GPU"},
		{"launch=4", " on cuda:0, yuv420p 70x46: the kernel failed on the GPU"},
		{"hang=1", " on cuda:0, yuv420p 70x46: cuda:0 did not answer for 300ms"},
		{"hang=5", " on cuda:0, yuv420p 70x46: cuda:0 did not answer for 300ms"},
		{"busy=1", "gpu: open cuda:0 (vidfilter test device): the GPU is busy"},
	} {
		t.Run(test.driver, func(t *testing.T) {
			if !onDriver(t, test.driver) {
				return
			}
			_, err := runFault(t, Options{Patience: patience(test.driver)})
			if !errors.Is(err, ErrDevice) || !strings.Contains(fmt.Sprint(err), test.want) {
				t.Errorf("error %v", err)
			}
			var e *Error
			if !errors.As(err, &e) || e.Hint() == "" {
				t.Errorf("no hint in %v", err)
			}
		})
	}
}

// TestLost: a device may be lost at any call. The run then also ends with a device error.
func TestLost(t *testing.T) {
	step := 4
	if testing.Short() {
		step = 15
	}
	for _, how := range []string{"lost", "ecc"} {
		for at := 1; at < 70; at += step {
			driver := fmt.Sprintf("%s=%d", how, at)
			t.Run(driver, func(t *testing.T) {
				if !onDriver(t, driver) {
					return
				}
				n, err := runFault(t, Options{})
				if !errors.Is(err, ErrDevice) && n != 8 {
					t.Errorf("%d frames, %v", n, err)
				}
			})
		}
	}
}

// TestShortage: with too little memory there are fewer buffers or slower copies, but the film is
// complete.
func TestShortage(t *testing.T) {
	for _, driver := range []string{"alloc=3", "alloc=4", "alloc=5", "hostalloc=1", "hostalloc=6+"} {
		t.Run(driver, func(t *testing.T) {
			if !onDriver(t, driver) {
				return
			}
			if n, err := runFault(t, Options{Streams: 3}); n != 8 || err != nil {
				t.Errorf("%d frames, %v", n, err)
			}
		})
	}
}

// TestShortageOfOne: if one of two devices runs out of memory, it goes on with the buffers that it
// has.
func TestShortageOfOne(t *testing.T) {
	if !onDriver(t, "alloc=7") {
		return
	}
	var said []string
	log := terminal.LogTo(slog.LevelDebug, func(_ slog.Level, msg string) { said = append(said, msg) })
	n, err := runFault(t, Options{All: true, Log: log})
	if n != 8 || err != nil || len(said) != 1 || !strings.Contains(said[0], "on cuda:1, of which 2147.5 MB are free: out of memory; going on with 1 of 5 buffers for frames") {
		t.Errorf("%d frames, %v, said %q", n, err, said)
	}
}

// TestOrder: the driver may run streams in any order.
func TestOrder(t *testing.T) {
	for order := range 4 {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			if !onDriver(t, fmt.Sprintf("order=%d,slow=1ms", order+1)) {
				return
			}
			if n, err := runFault(t, Options{Streams: 4, All: true}); n != 8 || err != nil {
				t.Errorf("%d frames, %v", n, err)
			}
		})
	}
}

// TestDevices: without a usable GPU, the error contains the reason.
func TestDevices(t *testing.T) {
	for driver, want := range map[string]string{
		"init=100":     "the driver finds no GPU",
		"devices=0":    "the driver finds no GPU",
		"init=802":     "the driver's services are not ready",
		"init=803":     "libcuda.so.1 and the kernel module are of different versions",
		"init=999":     "the driver does not say what is wrong",
		"version=8000": "the driver is too old: it knows CUDA 8.0, and the kernels need 9.0",
	} {
		t.Run(driver, func(t *testing.T) {
			if !onDriver(t, driver) {
				return
			}
			d, err := Devices()
			var e *Error
			if d != nil || !errors.Is(err, ErrDevice) || !errors.As(err, &e) || e.Error() != want || e.Hint() == "" {
				t.Errorf("%v, %v", d, err)
			}
		})
	}
	t.Run("two", func(t *testing.T) {
		if !onDriver(t, "compute=90/52,memory=1G,version=11080") {
			return
		}
		d, err := Devices()
		if err != nil || len(d) != 2 {
			t.Fatal(d, err)
		}
		free, err := d[0].Free()
		if d[1].String() != "cuda:1" || d[0].Name == "" || d[0].Compute != 90 || d[0].Total != 1<<30 || free != 1<<30 || err != nil {
			t.Errorf("%+v, %d free, %v", d[0], free, err)
		}
		if d[0].Usable() != nil || !errors.Is(d[1].Usable(), ErrDevice) || DriverVersion() != "11.8" {
			t.Errorf("%v, %v, %s", d[0].Usable(), d[1].Usable(), DriverVersion())
		}
	})
}
