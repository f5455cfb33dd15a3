package graph

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/contract"
)

func TestCheck(t *testing.T) {
	for _, text := range []string{
		"bwdif=1", "scale=1280:-2:flags=lanczos,cas=0.3", " crop = 64:32 , hflip ", "[in]vflip[out]", "null@here",
		"split[a][b];[a]gblur=2[c];[b][c]blend=all_mode=average", "sws_flags=lanczos;scale=64:32", "scale=w='min(64,iw)':h=-2",
		"fieldmatch,decimate", "curves=preset=vintage", "drawbox=x=1:y=1:w=4:h=4:color=red@0.5", "tpad=stop=3", "fps=60000/1001",
		"zscale=w=64:h=32:f=spline36", "format=yuv420p10le|yuv422p10le", "eq=gamma=1.2:enable='between(t,0,1)'",
	} {
		if err := Check(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Each refusal names the error and its place, and gives advice.
func TestCheckRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	for _, c := range []struct{ text, want string }{
		{"", "empty"}, {" \n\t", "empty"}, {strings.Repeat("hflip,", 7000) + "hflip", "bytes"},
		{strings.Repeat("null,", 100) + "null", "101 filters"}, {"null\x00,movie=f", "zero byte"},
		{"movie=f", `"movie=f" at character 1: the filter movie is not available here: it opens files`},
		{"hflip,movie@x=f", `filter 2 of the graph, "movie@x=f" at character 7`},
		{`m\ovie=f`, "the filter movie"}, {"'movie'=f", "the filter movie"}, {"mov''ie=f", "the filter movie"},
		{"[a]amovie=f[b]", "amovie"}, {"lut3d=" + file, "lut3d"}, {"lut1d=" + file, "files"}, {"haldclut", "another video"},
		{"sendcmd=f=" + file, "sendcmd"}, {"asendcmd", "asendcmd"}, {"zmq", "network"}, {"azmq", "network"}, {"drawtext=text=a", "files"},
		{"subtitles=" + file, "files"}, {"ass=" + file, "files"}, {"frei0r=x", "loads code"}, {"ladspa=x", "loads code"},
		{"removelogo=" + file, "files"}, {"deshake", "files"}, {"vidstabdetect", "files"}, {"metadata=print:file=" + file, "files"},
		{"psnr", "another video"}, {"ssim", "another video"}, {"libvmaf", "another video"}, {"signature", "files"}, {"openclsrc", "device"},
		{"color=red", "video of its own"}, {"testsrc[a];[in][a]overlay", "testsrc"}, {"nullsrc", "of its own"}, {"life", "of its own"},
		{"hwupload_cuda", "device"}, {"scale_cuda=64:32", "device"}, {"concat", "concat"}, {"overlay", "overlay"}, {"anull", "sound"},
		{"loop=loop=-1", "whole video"}, {"reverse", "whole video"}, {"buffer", "of its own"}, {"buffersink", "ends the video"},
		{"curves=psfile=" + file, "opens a file"}, {"curves=plot=" + file, "opens a file"}, {`curves=ps\file=` + file, "psfile"},
		{"curves@x=m=0/0:'plot'=" + file, "plot"},
		{"blend", "more than one input"}, {"fieldmatch=ppsrc=1", "more than one input"}, {"split", "more than one output"},
		{"extractplanes=y+u", "more than one output"}, {"hflip;vflip", "more than one input"},
		{"hflip[a];[a]vflip[b];[b]null[b2];[c]null[c]", "no frame reaches"},
		{"null,[a]null[b];[b]null[a]", "reaches"},
		{"nosuch", `there is no filter "nosuch"`}, {"csa=0.3", `there is no filter "csa"`}, {"hflip,,vflip", "name of a filter is missing"},
		{"scale=640:480:flgs=lanczos", `the filter scale has no option "flgs"`}, {"hflip=x=1", `no option "x"`},
		{"bwdif=mode=9", "mode"}, {"bwdif=mode=foo", "foo"}, {"[in scale", "Mismatched"}, {"scale=64:32]", "garbage"},
		{"[]null", "empty"}, {"sws_flags=lanczos", "not terminated"}, {"scale=w=(:h=2", ""},
		{"tpad=start=1000000000", "adds at most"}, {"tpad=stop=-1", "without end"}, {`tpad=stop_duration=100\\:00\\:00`, "hour"},
		{"fps=1000000000", "too many"}, {"fps=1/0", "too many"}, {"minterpolate=fps=5000/1", "too many"},
	} {
		err := Check(c.text)
		if err == nil {
			t.Errorf("%.60s: is taken", c.text)
			continue
		}
		var advised interface{ Hint() string }
		if !strings.Contains(err.Error(), c.want) || !errors.Is(err, ErrGraph) || !errors.As(err, &advised) || advised.Hint() == "" {
			t.Errorf("%.60s: %v", c.text, err)
		}
		if len(err.Error()) > 600 || contract.ExitCode(err) != contract.ExitUsage {
			t.Errorf("%.60s: %d bytes, exit code %d", c.text, len(err.Error()), contract.ExitCode(err))
		}
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a file was written")
	}
}

// The table has the filters that FFmpeg is built with, and no other.
func TestKnown(t *testing.T) {
	script, err := os.ReadFile("../scripts/ffmpeg.sh")
	must(t, err)
	var built []string
	for _, line := range regexp.MustCompile(`(?m)^filters=(?:\$filters,)?(.*)$`).FindAllSubmatch(script, -1) {
		built = append(built, strings.Split(string(line[1]), ",")...)
	}
	slices.Sort(built)
	if names := slices.Sorted(maps.Keys(known)); !slices.Equal(names, built) {
		t.Errorf("known: %v\nbuilt: %v", names, built)
	}
	for _, name := range built {
		if _, left := refused[name]; left || astiav.FindFilterByName(name) == nil {
			t.Errorf("%s is refused, or missing", name)
		}
	}
}
