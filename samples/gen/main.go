// Gen renders the sample clip: the picture as YUV4MPEG2 to standard output, or with -tracks the
// audio, subtitles and chapters that belong to it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"vidfilter/samples/scene"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return
		}
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) error {
	cfg, tape, tracks, err := parse(args)
	if err != nil {
		return err
	}
	if tracks != "" {
		return scene.WriteTracks(tracks, cfg)
	}
	if tape {
		return scene.WriteTape(stdout, cfg)
	}
	return scene.WriteY4M(stdout, cfg)
}

func parse(args []string) (cfg scene.Config, tape bool, tracks string, err error) {
	cfg = scene.Config{Width: 640, Height: 360, RateNum: 24, RateDen: 1}
	f := flag.NewFlagSet("gen", flag.ContinueOnError)
	f.Func("size", "`WxH` of the picture in pixels (default 640x360)", func(v string) (err error) {
		cfg.Width, cfg.Height, err = pair(v, "x")
		return err
	})
	f.Func("rate", "frames per second, `N` or N/D (default 24)", func(v string) (err error) {
		if !strings.Contains(v, "/") {
			v += "/1"
		}
		cfg.RateNum, cfg.RateDen, err = pair(v, "/")
		return err
	})
	f.Func("noise", "standard `deviation` of the grain in mid-tones, in code values, 0 to 64 (default 0)", func(v string) error {
		sigma, err := strconv.ParseFloat(v, 64)
		if err != nil || !(sigma >= 0 && sigma <= 64) {
			return errors.New("want a number from 0 to 64")
		}
		cfg.Noise = int(math.Round(sigma * 256))
		return nil
	})
	f.IntVar(&cfg.Frames, "frames", 120, "how many frames")
	f.Uint64Var(&cfg.Seed, "seed", 1, "seed of the grain")
	f.BoolVar(&tape, "tape", false, "draw VHS tape: interlaced 4:2:2, worn if there is noise; for -size 720x576 -rate 25")
	f.StringVar(&tracks, "tracks", "", "write audio.wav, subtitles.srt and chapters.txt of the same length into `DIR`, and no picture")
	if err := f.Parse(args); err != nil {
		return cfg, tape, "", err
	}
	if f.NArg() > 0 {
		return cfg, tape, "", fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	return cfg, tape, tracks, nil
}

func pair(v, sep string) (a, b int, err error) {
	left, right, ok := strings.Cut(v, sep)
	if !ok {
		return 0, 0, fmt.Errorf("want two numbers with %q between them", sep)
	}
	if a, err = strconv.Atoi(left); err != nil {
		return 0, 0, err
	}
	b, err = strconv.Atoi(right)
	return a, b, err
}
