package live

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/live/access"
)

// With --token a restart keeps the addresses. The viewers' link shows the picture without controls;
// a page with control lists the viewers and removes them.
func TestLookersAndGuests(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	s := serve(t, "-i", "test", "--size", "320x180", "--token", file)
	base, token, _ := strings.Cut(s.url, "#")
	b, err := os.ReadFile(file)
	if err != nil || strings.TrimSpace(string(b)) != token {
		t.Fatalf("the file has %q, %v; the address %q", b, err, token)
	}
	view := base + "#" + access.ViewToken(token)
	s.Until("the other link", func() bool { return strings.Contains(s.Err.String(), view) })

	looker := look(t, view)
	looker.until("vidfilter.drawn > 3")
	shown := func(p *page, id string) bool {
		return eval[bool](p, "document.getElementById(%q).checkVisibility()", id)
	}
	for _, id := range []string{"freeze", "filter", "guests", "record-start", "export"} {
		if shown(looker, id) {
			t.Errorf("#%s is there for those who only look", id)
		}
	}
	looker.run("document.body.dispatchEvent(new KeyboardEvent('keydown', { key: ' ', bubbles: true }))")
	p := look(t, s.url)
	p.until("vidfilter.drawn > 3 && document.querySelectorAll('#guest-list li').length === 2")
	if !shown(p, "freeze") || !shown(p, "filter") || !shown(p, "guests") || !shown(p, "record-start") || eval[bool](p, "vidfilter.state.frozen") {
		t.Error("the page with control lacks something")
	}
	if got := eval[string](p, "document.getElementById('guest-list').textContent"); !strings.Contains(got, "127.0.0.1") || !strings.Contains(got, "looks on") || !strings.Contains(got, "you") {
		t.Errorf("the list: %s", got)
	}
	p.run("document.querySelector('#guest-list button').click()")
	looker.until("document.getElementById('over-text').textContent.includes('removed')")
	p.until("document.getElementById('guests').hidden")

	if code := s.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	again := serve(t, "-i", "test", "--size", "320x180", "--token", file)
	if !strings.HasSuffix(again.url, "#"+token) {
		t.Errorf("%s, then %s", s.url, again.url)
	}
	given := serveIn(t, []string{"VIDFILTER_TOKEN=one-of-my-own-choice"}, "-i", "test", "--size", "320x180")
	if !strings.HasSuffix(given.url, "#one-of-my-own-choice") {
		t.Error(given.url)
	}
}

func TestBadTokens(t *testing.T) {
	open := filepath.Join(t.TempDir(), "open")
	e2e.Must(t, os.WriteFile(open, []byte("a-long-and-good-token"), 0o644))
	for file, want := range map[string]string{open: "chmod 600", "/nowhere/token": "--token"} {
		if _, err, code := run(t, "-i", "test", "--token", file); code != 2 || !strings.Contains(err, want) {
			t.Errorf("%s: exit code %d: %s", file, code, err)
		}
	}
	t.Setenv("VIDFILTER_TOKEN", "short")
	if _, err, code := run(t, "-i", "test"); code != 2 || !strings.Contains(err, "VIDFILTER_TOKEN is not a token") || strings.Contains(err, "short") {
		t.Errorf("a short one: exit code %d: %s", code, err)
	}
}
