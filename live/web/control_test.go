package web

import (
	"errors"
	"image/png"
	"net/http"
	"slices"
	"sync"
	"testing"

	"vidfilter/kernels"
)

// A view token is enough for measurements and snapshots.
func TestMeasure(t *testing.T) {
	p := open(t, Options{})
	cookie := p.cookie(viewToken)
	c := p.dial(cookie)
	c.say(`{"type":"hello","version":1,"video":"jpeg"}`)
	c.next()
	c.say(`{"type":"measure","x":0.5,"y":2}`)
	m := c.message("samples")
	if m["x"] != 80.0 || m["y"] != 89.0 || m["depth"] != 8.0 || m["id"].(float64) < 1 {
		t.Errorf("%v", m)
	}
	names, bars := m["names"].([]any), m["bars"].([]any)
	if len(names) != 3 || len(m["left"].([]any)) != 3 || len(m["right"].([]any)) != 3 || len(bars) != 2 {
		t.Errorf("%v", m)
	}
	for view, width := range map[string]int{"original": 160, "filtered": 160, "split": 320} {
		resp := p.do("GET", "/snapshot?view="+view, "", "Cookie", cookie)
		picture, err := png.Decode(resp.Body)
		if err != nil || picture.Bounds().Dx() != width || picture.Bounds().Dy() != 90 {
			t.Errorf("%s: %s, %v", view, resp.Status, err)
		}
	}
	if got := p.do("GET", "/snapshot?view=both", "", "Cookie", cookie).StatusCode; got != http.StatusBadRequest {
		t.Errorf("an unknown view: %d", got)
	}
}

// A page with control can record, and gets the reason of a refusal.
func TestRecord(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	p := open(t, Options{Record: func(do string) error {
		mu.Lock()
		defer mu.Unlock()
		if asked = append(asked, do); do == "stop" {
			return errors.New("nothing is being recorded")
		}
		return nil
	}})
	c := p.dial(p.cookie(testToken))
	if st := c.message("state"); st["recording"] != nil || st["record_why"] != "not here" {
		t.Errorf("recording %v, because %v", st["recording"], st["record_why"])
	}
	for _, do := range []string{"start", "pause", "stop"} {
		c.say(`{"type":"record","do":%q}`, do)
	}
	if r := c.message("refused"); r["reason"] != "nothing is being recorded" {
		t.Errorf("%v", r)
	}
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(asked, []string{"start", "pause", "stop"}) {
		t.Errorf("asked %q", asked)
	}
}

// The socket compares two settings. The state has both, and pictures are marked as compared.
func TestCompare(t *testing.T) {
	p := open(t, Options{})
	c := p.watcher("")
	c.keyFrame()
	state := func(side, words, other string) {
		t.Helper()
		c.until("another state", func(m any) bool {
			if n, ok := m.(picture); ok {
				c.say(`{"type":"ack","id":%d}`, n.id)
			}
			st, ok := m.(map[string]any)
			return ok && st["side"] == side && st["words"] == words && st["other_words"] == other
		})
	}
	pictures := func(compared bool) {
		t.Helper()
		for n := 0; c.next().flags&flagCompared != 0 != compared; n++ {
			if n > 100 {
				t.Fatalf("pictures say that they show two settings: %v", !compared)
			}
		}
	}
	const one, five = "bilateral, radius 1", "bilateral, radius 5"
	pictures(false)
	c.say(`{"type":"compare","do":"on"}`)
	state("b", one, one)
	c.say(`{"type":"set","filter":{"radius":5}}`)
	state("b", five, one)
	pictures(true)
	c.say(`{"type":"measure","x":0.5,"y":0.5}`)
	if m := c.message("samples"); m["compared"] != true || m["whole"] == -1.0 {
		t.Errorf("samples of two settings: %v", m)
	}
	c.say(`{"type":"compare","do":"a"}`)
	state("a", one, five)
	c.say(`{"type":"compare","do":"copy"}`)
	state("a", one, one)
	c.say(`{"type":"compare","do":"nonsense"}`)
	c.say(`{"type":"compare","do":"off"}`)
	state("", one, "")
	pictures(false)
	if got, _ := p.session.State(); kernels.Of[kernels.Bilateral](got.Filter.Selection).Radius != 1 {
		t.Errorf("%+v remains", got.Filter)
	}
}
