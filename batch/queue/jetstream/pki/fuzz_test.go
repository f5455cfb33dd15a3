package pki

import (
	"bytes"
	"testing"

	"vidfilter/internal/e2e"
)

// FuzzCredentials reads arbitrary bytes as a file of credentials: accepted ones have an owner, and
// a certificate to present or to trust, or no certificate.
func FuzzCredentials(f *testing.F) {
	k, err := Open(f.TempDir(), Files{}, nil)
	e2e.Must(f, err)
	for _, role := range []Role{Worker, Submitter} {
		file, err := k.Issue(string(role), role)
		e2e.Must(f, err)
		f.Add(file)
		f.Add(bytes.ReplaceAll(file, []byte("BEGIN"), []byte("END")))
		f.Add(file[:len(file)/2])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := parseCredentials(b)
		if err != nil {
			return
		}
		if c.Key() == "" || c.Name() == "" && c.Role() != "" {
			t.Errorf("nobody's: %+v", c.claims)
		}
		if secure, err := c.TLS(Files{}); err != nil || c.Served() && len(secure.Certificates) != 1 {
			t.Errorf("%+v, %v", secure, err)
		}
	})
}
