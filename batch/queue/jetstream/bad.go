package jetstream

import (
	"maps"
	"sync"
)

// badResults counts the refused results of each credential's workers.
type badResults struct {
	mu sync.Mutex
	n  map[string]int
}

func (b *badResults) add(credential string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n[credential]++
}

// BadResults returns how many results that no task can have came from the workers of each
// credential since the server began. Credentials without any are left out.
func (s *Server) BadResults() map[string]int {
	s.head.bad.mu.Lock()
	defer s.head.bad.mu.Unlock()
	return maps.Clone(s.head.bad.n)
}
