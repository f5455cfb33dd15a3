package web

import (
	"bytes"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"vidfilter/internal/e2e"

	"github.com/coder/websocket"
)

// watcher opens a page that plays AVC, with more fields for its hello.
func (p *page) watcher(hello string) *client {
	p.t.Helper()
	c := p.dial(p.cookie(testToken))
	c.say(`{"type":"hello","version":1,"video":"avc"%s}`, hello)
	return c
}

// keyFrame reads on to a key frame.
func (c *client) keyFrame() picture {
	c.t.Helper()
	for {
		if p := c.next(); p.flags&flagKey != 0 {
			return p
		}
	}
}

// Viewers that want the same get the same pictures of one encoder, and one that joins begins with
// a key frame.
func TestViewersShareAnEncoder(t *testing.T) {
	p := open(t, Options{})
	a := p.watcher("")
	if first := a.next(); first.flags&flagKey == 0 {
		t.Error("the first picture is no key frame")
	}
	b := p.watcher(`,"view":"both"`)
	b.message("config")
	if first := b.next(); first.flags&flagKey == 0 {
		t.Error("who joins does not begin with a key frame")
	}
	pages := [2]*pictures{a.keepGoing(), b.keepGoing()}
	for pages[0].len() < 40 || pages[1].len() < 40 {
		if p.ctx.Err() != nil {
			t.Fatal("too few pictures come")
		}
		time.Sleep(time.Millisecond)
	}
	same := 0
	for id, data := range pages[0].all() {
		if other := pages[1].all()[id]; other != nil {
			if same++; !bytes.Equal(data, other) {
				t.Errorf("picture %d is encoded twice", id)
			}
		}
	}
	if same < 5 {
		t.Errorf("the pages have %d pictures in common", same)
	}
	a.c.CloseNow()
	p.leave(1)
	n := pages[1].len()
	e2e.Until(t, "pictures for the other page", func() bool { return pages[1].len() >= n+5 })
}

// A page that shows one picture of the pair gets no other, and both again at once even while the
// picture is frozen.
func TestViews(t *testing.T) {
	p := open(t, Options{})
	c := p.watcher(`,"view":"filtered"`)
	conf := c.message("config")
	if conf["single"] != "filtered" || conf["height"] != 90.0 || conf["filtered_y"] != 0.0 || conf["stamp_y"] != 90.0 {
		t.Errorf("%v", conf)
	}
	c.keyFrame()
	c.say(`{"type":"freeze","on":true}`)
	c.until("frozen", func(m any) bool {
		st, ok := m.(map[string]any)
		return ok && st["frozen"] == true
	})
	for _, view := range []string{"original", "both"} {
		c.say(`{"type":"view","view":%q}`, view)
		conf = c.message("config")
		single, _ := conf["single"].(string)
		if single != map[string]string{"original": "original"}[view] || conf["coded_height"].(float64) < 90 {
			t.Errorf("%s: %v", view, conf)
		}
		if n := c.keyFrame(); n.flags&flagRepeated == 0 && view == "both" {
			t.Error("a frozen picture counts as new")
		}
	}
}

// A page that stops does not hold up another. When it goes on, it gets a key frame if they share an
// encoder. Pages that join at the very start may have one each.
func TestAViewerThatStops(t *testing.T) {
	p := open(t, Options{})
	a, b := p.watcher(""), p.watcher("")
	b.keyFrame()
	others := a.keepGoing()
	for range 2 {
		begin := others.len()
		for others.len() < begin+2*most { // more than b may have unacknowledged
			if p.ctx.Err() != nil {
				t.Fatal("one page holds up the other")
			}
			time.Sleep(time.Millisecond)
		}
		last := others.last()
		b.say(`{"type":"ack","id":%d}`, last)
		next := b.until("picture", func(m any) bool {
			n, ok := m.(picture)
			return ok && n.id >= last
		}).(picture)
		for others.last() < next.id && p.ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		if next.flags&flagKey == 0 && bytes.Equal(next.data, others.all()[next.id]) {
			t.Errorf("after a stop, picture %d refers to one that the page lacks", next.id)
		}
		b.say(`{"type":"ack","id":%d}`, next.id)
	}
	b.next()
}

// pictures are those that have come to a page.
type pictures struct {
	mu     sync.Mutex
	data   map[uint32][]byte
	newest uint32
}

func (p *pictures) len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.data)
}

func (p *pictures) last() uint32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.newest
}

func (p *pictures) all() map[uint32][]byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.data)
}

// keepGoing keeps and acknowledges all pictures as they come.
func (c *client) keepGoing() *pictures {
	came := &pictures{data: map[uint32][]byte{}}
	go func() {
		for {
			m, err := c.read(c.ctx)
			if err != nil {
				return
			}
			if p, ok := m.(picture); ok {
				came.mu.Lock()
				came.data[p.id], came.newest = p.data, p.id
				came.mu.Unlock()
				_ = c.c.Write(c.ctx, websocket.MessageText, fmt.Appendf(nil, `{"type":"ack","id":%d}`, p.id))
			}
		}
	}()
	return came
}
