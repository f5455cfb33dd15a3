package media

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// undefined collects the messages of the undefined behaviour sanitizer by source line.
type undefined struct {
	mu    sync.Mutex
	found map[string]*undefinedPlace
}

type undefinedPlace struct {
	message, try string // the first
	tries        int
}

// libavcodec/mpegvideo.c:123:45: runtime error: left shift of negative value -1
var undefinedMessage = regexp.MustCompile(`(?m)^(\S+:\d+):\d+: runtime error: (.*)$`)

// add reads the messages of a try.
func (u *undefined) add(d damageTry, said string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	seen := map[string]bool{}
	for _, m := range undefinedMessage.FindAllStringSubmatch(said, -1) {
		at := m[1]
		if seen[at] {
			continue
		}
		seen[at] = true
		if u.found == nil {
			u.found = map[string]*undefinedPlace{}
		}
		if u.found[at] == nil {
			u.found[at] = &undefinedPlace{message: m[2], try: d.String()}
		}
		u.found[at].tries++
	}
}

// report lists the places. Paths of FFmpeg and dav1d are relative to their own folders. All others
// are this program's, and errors.
func (u *undefined) report(t *testing.T) {
	t.Helper()
	for _, at := range slices.Sorted(maps.Keys(u.found)) {
		say, p := t.Errorf, u.found[at]
		for _, theirs := range []string{"libav", "libsw", "../src/"} {
			if strings.HasPrefix(at, theirs) {
				say = t.Logf
			}
		}
		say("%s: %s (%d tries, first %s)", at, p.message, p.tries, p.try)
	}
}
