package jetstream

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
)

// turns decides whose task is next at a site: the credentials that wait take turns, in proportion
// to their shares. A credential that was idle in between has no turns to catch up on.
type turns struct {
	share map[string]int // by credential; others have 1

	mu sync.Mutex
	at map[string]*round // by site
}

// round is the state of a site, in turns of a credential with a share of 1.
type round struct {
	now  float64            // when the last task began
	next map[string]float64 // when a credential's next task may begin, if that is later
}

// order sorts credentials with tasks at a site: the one whose turn it is comes first.
func (t *turns) order(site string, users []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.at[site]
	if r == nil {
		return
	}
	slices.SortStableFunc(users, func(a, b string) int { return cmp.Compare(r.begin(a), r.begin(b)) })
}

func (r *round) begin(user string) float64 { return max(r.now, r.next[user]) }

func (t *turns) took(site, user string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.at[site]
	if r == nil {
		r = &round{next: map[string]float64{}}
		t.at[site] = r
	}
	r.now = r.begin(user)
	r.next[user] = r.now + 1/float64(cmp.Or(t.share[user], 1))
	maps.DeleteFunc(r.next, func(_ string, next float64) bool { return next <= r.now })
}

// forget drops the states of sites without jobs.
func (t *turns) forget(needed func(site string) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.at, func(site string, _ *round) bool { return !needed(site) })
}

// siteQueue is where a credential's tasks of a site wait.
type siteQueue struct{ site, user, token string }

// siteQueues returns where tasks for a client may wait, at each site in the order of turns.
func (h *requestHandler) siteQueues(by caller, q *fetchRequest) (all []siteQueue) {
	add := func(site string, users []string) {
		h.turns.order(site, users)
		for _, user := range users {
			all = append(all, siteQueue{site, user, h.token(user, site)})
		}
	}
	for _, s := range q.Sites {
		add(s, slices.DeleteFunc(h.cache.usersAt(s, h.isForAll(s)), func(user string) bool { return !h.isForAll(s) && !by.ownsOf(user) }))
	}
	if q.Any {
		add("", slices.DeleteFunc(h.cache.usersAt("", true), func(user string) bool { return !by.ownsOf(user) }))
	}
	return all
}

// isForAll reports whether workers of all credentials do the tasks of a site, and any job may have
// some there.
func (h *requestHandler) isForAll(site string) bool { return slices.Contains(h.o.Sites, site) }

// took notes whose task a message is.
func (h *requestHandler) took(m message, from []siteQueue) {
	for _, s := range from {
		if isAt(m, s.token) {
			h.turns.took(s.site, s.user)
			return
		}
	}
}

// isAt reports whether a task's message is at a site with this token.
func isAt(m message, token string) bool { return strings.Contains(m.Subject(), "."+token+".") }

// mayDo reports whether a client may do a task of a job without its owner's rights: all may do
// parts that come through the store.
func (h *requestHandler) mayDo(m message, user string) bool {
	return slices.ContainsFunc(h.o.Sites, func(site string) bool { return isAt(m, h.token(user, site)) })
}
