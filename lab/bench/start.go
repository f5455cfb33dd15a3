package bench

import (
	"context"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"vidfilter/lab/measure"
)

// StartSection has the times of short runs of the program.
type StartSection struct {
	Rows []StartRow `json:"rows"`
}

// StartRow is one command.
type StartRow struct {
	What      string `json:"what"`
	Processor Stat   `json:"processor"` // time of the process and its child
	Wall      Stat   `json:"wall"`
}

const startSide = 64 // of the picture

// start measures the program. A process that is not the program has no command to start.
func (r *run) start(ctx context.Context) (*StartSection, error) {
	s := &StartSection{}
	if !r.o.Program {
		return s, nil
	}
	folder, err := os.MkdirTemp("", "vidfilter-bench-")
	if err != nil {
		return s, err
	}
	defer os.RemoveAll(folder)
	in, out := filepath.Join(folder, "in.png"), filepath.Join(folder, "out.png")
	if err := drawPicture(in); err != nil {
		return s, err
	}
	for _, c := range []struct {
		what string
		args []string
	}{
		{"floor: true", nil},
		{"vidfilter --version", []string{"--version"}},
		{fmt.Sprintf("a job of one picture, %dx%d", startSide, startSide), []string{"-i", in, "-o", out, "-y", "-q", "--device", "cpu"}},
	} {
		r.say("%s", c.what)
		row, err := r.startRow(ctx, c.args)
		if err != nil {
			return s, fmt.Errorf("bench: %s: %w", c.what, err)
		}
		row.What = c.what
		s.Rows = append(s.Rows, row)
	}
	return s, checkPicture(out)
}

func (r *run) startRow(ctx context.Context, args []string) (row StartRow, err error) {
	n := 50
	if r.o.Quick {
		n = 5
	}
	var processor, wall []time.Duration
	for range n {
		cmd := exec.CommandContext(ctx, "true")
		if args != nil {
			cmd = exec.CommandContext(ctx, "/proc/self/exe", args...)
			cmd.Args[0] = os.Args[0]
		}
		start := time.Now()
		if said, err := cmd.CombinedOutput(); err != nil {
			return row, fmt.Errorf("%w: %s", err, said)
		}
		wall = append(wall, time.Since(start))
		processor = append(processor, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	}
	row.Processor, row.Wall = measure.StatOf(processor), measure.StatOf(wall)
	return row, nil
}

func drawPicture(name string) error {
	p := image.NewNRGBA(image.Rect(0, 0, startSide, startSide))
	for i := range p.Pix {
		p.Pix[i] = byte(i*i/64) | byte(i%4/3*255) // opaque
	}
	return measure.WritePNG(name, p)
}

// checkPicture: the job has written a whole picture of that size.
func checkPicture(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	p, err := png.Decode(f)
	if err == nil && p.Bounds().Size() != image.Pt(startSide, startSide) {
		err = fmt.Errorf("bench: the job's picture is %v", p.Bounds().Size())
	}
	return err
}
