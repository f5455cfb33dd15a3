package web

import (
	"errors"
	"image/png"
	"net/http"
	"slices"
	"sync"
	"testing"
)

// Those who only look may measure and save the picture.
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

// Those with control record. A refusal is told.
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
