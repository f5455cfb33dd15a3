package video

import (
	"errors"
	"strings"
	"testing"

	"vidfilter/encode/spec"
	"vidfilter/internal/hint"
)

// TestX264Names checks the lists against x264: it knows each allowed name, and no value of one
// opens a file.
func TestX264Names(t *testing.T) {
	for _, name := range x264Allowed {
		for _, value := range []string{"1", "2", "name.bin", "1,1", "1/1", "flat"} {
			err := checkX264(spec.Param{Name: name, Value: value})
			if err != nil && strings.Contains(err.Error(), "no parameter") || err != nil && strings.Contains(err.Error(), "opens a file") {
				t.Errorf("%s=%s: %v", name, value, err)
			}
		}
	}
	for name := range x264Files {
		if checkX264(spec.Param{Name: name, Value: "name.bin"}) == nil && checkX264(spec.Param{Name: name, Value: "1"}) == nil {
			t.Errorf("x264 opens no file for %s", name)
		}
	}
}

func TestParseX264(t *testing.T) {
	for _, s := range []string{
		"", "keyint=10:min-keyint=10:bframes=0", "no-cabac=1:no8x8dct=1", "qp_min=3:b_adapt=2", "deblock=-1,-1:psy-rd=1.0,0.15",
		"zones=0,9,q=20/10,19,b=1.5,ref=2/20,29,me=hex", "cqm=jvt", "crf=17.5", "mastering-display=G(1,2)B(3,4)R(5,6)WP(7,8)L(9,1)", "fps=25/1",
	} {
		if _, err := ParseX264(s); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	for s, want := range map[string]string{
		"stats=x":                      `x264 parameter "stats" writes a file; vidfilter does not allow it`,
		"crf=20:dump-yuv=x":            `"dump-yuv" writes a file`,
		"dump_yuv=x":                   `"dump_yuv" writes a file`,
		"no-stats=x":                   `"no-stats" writes a file`,
		"nostats=x":                    `"nostats" writes a file`,
		"no_dump-yuv=x":                `"no_dump-yuv" writes a file`,
		"STATS=x":                      `"STATS" writes a file`,
		"Dump-YUV=x":                   `"Dump-YUV" writes a file`,
		"pass=1":                       `"pass" reads and writes a file`,
		"no-pass=0":                    `"no-pass" reads and writes a file`,
		"cqmfile=x":                    `"cqmfile" reads a file`,
		"cqm=/etc/x":                   `names a file`,
		"cqm=flat/../x":                `names a file`,
		"opencl=1":                     `"opencl" writes a file`,
		"no-opencl=0":                  `writes a file`,
		"opencl-clbin=x":               `writes a file`,
		`cr\f=2`:                       `cannot hold '\\'`,
		`crf='2:sta'ts=x`:              `cannot hold '\''`,
		`'stats'=x`:                    `cannot hold '\''`,
		" stats=x":                     `cannot hold ' '`,
		"crf=2\nstats=x":               `cannot hold '\n'`,
		"zones=0,5,dump-yuv=x":         `"dump-yuv" writes a file`,
		"zones=0,5,q=3,stats=x":        `"stats" writes a file`,
		"zones=0,5,q=3/6,9,no_stats=x": `"no_stats" writes a file`,
		"zones=0,5,cqm=x.cfg":          `names a file`,
		"zones=0,5,zones=1":            `is not a zone`,
		"zones=0,5,ref=2,zones=1,2,q=": `is not a zone`,
		"zones=zz":                     `"zz" is not a zone`,
		"crf":                          `"crf" needs a value`,
		"crf=":                         `"crf" needs a value`,
		"deblock=1:1":                  `unknown x264 parameter "1"`,
		"crf=abc":                      `"crf" does not take "abc"`,
		"fps=0/0":                      `"fps" does not take "0/0"`,
		"foo=bar":                      `unknown x264 parameter "foo"`,
		"crf=20:":                      `unknown x264 parameter ""`,
		"preset=slow":                  `unknown x264 parameter "preset"`,
		"stat=x":                       `unknown x264 parameter "stat"`,
		"no-no-cabac=1":                `unknown x264 parameter`,
	} {
		_, err := ParseX264(s)
		if err == nil || !errors.Is(err, ErrOption) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", s, err, want)
		}
	}
	if _, err := ParseX264("bframe=3"); err == nil || !strings.Contains(hint.Of(err), `did you mean "bframes"?`) {
		t.Errorf("no suggestion: %v", err)
	}
}
