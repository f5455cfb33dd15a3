package web

import (
	"testing"

	"vidfilter/kernels"
)

// Two settings are compared by the socket: the state says both, and pictures say that they show
// them.
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
