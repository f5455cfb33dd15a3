package web

import "net/http"

// shareHeaders lets another site's page read the answer.
func shareHeaders(h http.Header) {
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", "Location, Link, Retry-After")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
}

// preflight answers the question that a browser asks before such a request. It holds no token.
func preflight(w http.ResponseWriter, r *http.Request) (answered bool) {
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Methods", "DELETE, GET, OPTIONS, PATCH, POST")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, If-Match")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}
