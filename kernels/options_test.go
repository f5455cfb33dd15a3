package kernels

import (
	goflag "flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"vidfilter/denoise"
	"vidfilter/denoise/noise"
	"vidfilter/internal/e2e"
	"vidfilter/pipeline"
)

var update = goflag.Bool("update", false, "write the table of docs/filters.md")

// TestDocs compares the table at the end of docs/filters.md with the program's.
func TestDocs(t *testing.T) {
	const file = "../docs/filters.md"
	doc := e2e.Read(t, file)
	text, _, _ := strings.Cut(string(doc), "| option |")
	if text += docsTable(); text == string(doc) {
		return
	}
	t.Errorf("%s has another table: go test ./kernels -run TestDocs -update", file)
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Error(err)
		}
	}
}

func docsTable() string {
	var b strings.Builder
	b.WriteString("| option | filter | values | default | |\n| --- | --- | --- | --- | --- |\n")
	for _, o := range Options() {
		of, values, defaults := "all", strings.Join(o.Names, ", "), ""
		if all := o.Filters(); len(all) < len(Filters()) {
			names := make([]string, len(all))
			for i, f := range all {
				names[i] = f.Name
			}
			of = strings.Join(names, ", ")
		}
		switch o.Kind {
		case Name:
			defaults = o.Names[o.Default]
		case Switch:
			values, defaults = "true, false", "false"
		case Text:
			values = o.Metavar
		default:
			number := strings.NewReplacer("a number ", "", ", at most 1e+09", "").Replace(o.anywhere().describe(o.Kind))
			values = strings.TrimSuffix(number+"; "+o.Unit, "; ")
			defaults = strings.Join(o.Defaults(), "; ")
		}
		flag := "`--" + o.Name + "`"
		if o.Short != "" {
			flag += ", `-" + o.Short + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", flag, of, values, defaults, o.Help)
	}
	return b.String()
}

func TestOptionTable(t *testing.T) {
	all := Options()
	if all[0].Name != "filter" {
		t.Error("the filter is not first: it decides about the other options")
	}
	shorts := map[string]bool{}
	for i, o := range all {
		if named, ok := OptionNamed(o.Name); !ok || named.Title != o.Title {
			t.Errorf("%s is there twice", o.Name)
		}
		if shorts[o.Short] && o.Short != "" || o.Title == "" || o.Help == "" || i > 0 && len(o.of) == 0 {
			t.Errorf("%s: the letter is taken, or the title, help or filters are missing", o.Name)
		}
		shorts[o.Short] = true
		for _, p := range o.of {
			d := p.bounded(p.Domain)
			if p.Title != o.Title || p.Kind != o.Kind {
				t.Errorf("%s of %s has another title or kind than that of the table", o.Name, p.filter)
			}
			if !d.holds(o.Kind, d.value(p.filter.Zero)) || !d.holds(o.Kind, d.Slider[0]) || !d.holds(o.Kind, d.Slider[1]) {
				t.Errorf("%s of %s: the default or an end of the slider is out of range", o.Name, p.filter)
			}
		}
	}
}

func TestOptionValues(t *testing.T) {
	for _, stage := range []Stage{DefaultBilateral(3), DefaultRecursive(), DefaultDenoise()} {
		p := Select(stage)
		for _, o := range Options() {
			d, ok := o.In(p.Chosen())
			if !ok || o.of == nil { // the option filter itself
				continue
			}
			if !o.IsDefault(p) {
				t.Errorf("%s of %s has no default: %+v", o.Name, p.Chosen(), stage)
			}
			var value any = d.Max
			switch o.Kind {
			case Name:
				value = o.Names[int(d.Max)]
			case Switch:
				value = true
			}
			q := p
			if err := o.Set(&q, value); err != nil || fmt.Sprint(o.Value(q)) != fmt.Sprint(value) || q.Validate() != nil {
				t.Errorf("%s %v: %+v, %v", o.Name, value, q.Main(), err)
			}
			for _, bad := range []any{-1.0, 1e300, "no", "", nil, true} {
				if bad == true && o.Kind == Switch {
					continue
				}
				if q := p; o.Set(&q, bad) == nil || q != p {
					t.Errorf("%s %v is accepted, or changes something", o.Name, bad)
				}
			}
		}
	}
}

// An option that filters share is set in each, and each keeps the others of its own.
func TestSelection(t *testing.T) {
	var s Selection
	sigma, _ := OptionNamed("sigma-s")
	e2e.Must(t, sigma.Set(&s, 7.0))
	if s.Main() != Stage(DefaultDenoise()) || Of[Bilateral](s).SigmaS != 7 || Of[Recursive](s).SigmaS != 7 {
		t.Errorf("%+v", s)
	}
	name, _ := OptionNamed("filter")
	e2e.Must(t, name.Set(&s, "recursive"))
	if want := (Recursive{SigmaS: 7, SigmaR: 20, Iterations: 2}); s.Main() != Stage(want) || len(s.Stages()) != 1 {
		t.Errorf("%+v", s)
	}
	e2e.Must(t, name.Set(&s, "bilateral"))
	if sigma.Clear(&s); s.WithDefaults().Main() != Stage(DefaultBilateral(3)) {
		t.Errorf("%+v", s.WithDefaults())
	}
}

// Parts of a video are planned without knowing the device.
func TestWindow(t *testing.T) {
	for _, stage := range []Stage{DefaultBilateral(3), DefaultRecursive()} {
		if w := stage.Window(); w != (pipeline.Window{}) {
			t.Errorf("%s: %+v", stage.Filter(), w)
		}
	}
	for quality := range Quality(len(qualityNames)) {
		p := DefaultDenoise()
		p.Quality = quality
		want := pipeline.Window{Before: 3, After: 3, Step: 1}
		if quality == Best {
			want = pipeline.Window{Before: 6 + 3*16, After: 6, Step: 16}
		}
		given := p
		given.Noise = 5
		if got := given.Window(); got != want {
			t.Errorf("%v with the noise given: %+v", quality, got)
		}
		want.Before = max(want.Before+noise.LightsBefore, noise.Before)
		if got := p.Window(); got != want {
			t.Errorf("%v: %+v", quality, got)
		}
		for _, auto := range []denoise.Tier{denoise.Fast, denoise.Good} {
			if got := p.Denoising(auto).Reads(); got != want {
				t.Errorf("%v on another device: %+v", quality, got)
			}
		}
	}
}
