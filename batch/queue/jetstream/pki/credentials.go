package pki

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"

	"vidfilter/internal/hint"
)

// Files are certificates in PEM files. Each name may be "".
type Files struct {
	Cert, Key string
	CA        string // signed the peer's certificate
}

// Credentials let a client in. The zero value is for servers that ask for no credentials.
type Credentials struct {
	file   string // for nats.go, which reads it at each connection: it may be rotated
	claims *jwt.UserClaims
	roots  []*x509.Certificate
	client *tls.Certificate
}

// ReadCredentials reads a file that holds a user's token and seed, as for every NATS program.
// Files of vidfilter serve also hold certificates: the client's own, and those that
// the server's must be signed by.
func ReadCredentials(file string) (Credentials, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return Credentials{}, hint.Errorf("copy worker.creds from the server's folder", "queue: credentials: %w", err)
	}
	c, err := parseCredentials(b)
	if err != nil {
		return c, hint.Errorf("copy worker.creds from the server's folder again", "queue: %s holds no credentials: %w", file, err)
	}
	c.file = file
	return c, nil
}

// roleTag begins the tag of a user's token with the role.
const roleTag = "vidfilter-role:"

// Role returns the role, or "" for a user of another server.
func (c Credentials) Role() Role {
	if c.claims != nil {
		for _, tag := range c.claims.Tags {
			if role, ok := strings.CutPrefix(tag, roleTag); ok {
				return Role(role)
			}
		}
	}
	return ""
}

// Name returns the name of the credential.
func (c Credentials) Name() string { return c.claims.Name }

// Key returns the public key of the user.
func (c Credentials) Key() string { return c.claims.Subject }

// Served reports whether they are of vidfilter serve, which makes a client certificate for each.
func (c Credentials) Served() bool { return c.client != nil }

func parseCredentials(b []byte) (c Credentials, err error) {
	token, err := jwt.ParseDecoratedJWT(b)
	if err != nil {
		return c, err
	}
	if c.claims, err = jwt.DecodeUserClaims(token); err != nil {
		return c, fmt.Errorf("the user's token: %w", err)
	}
	if _, err := jwt.ParseDecoratedUserNKey(b); err != nil {
		return c, fmt.Errorf("the user's seed: %w", err)
	}
	certs, err := certificates(b)
	if err != nil {
		return c, err
	}
	if !bytes.Contains(b, []byte("BEGIN "+pemKey)) {
		c.roots = certs
		return c, nil
	}
	// The key belongs to one of the certificates; the others are trusted.
	for i := range certs {
		if t, err := tls.X509KeyPair(pemOf(certs[i:i+1]), b); err == nil {
			c.client = &t
			c.roots = slices.Concat(certs[:i], certs[i+1:])
			if c.Role() == "" {
				return c, errors.New("its token has no role")
			}
			return c, nil
		}
	}
	return c, errors.New("no certificate fits its private key")
}

// Options returns the options for a connection with the credentials.
func (c Credentials) Options() []nats.Option {
	if c.file == "" {
		return nil
	}
	return []nats.Option{nats.UserCredentials(c.file)}
}

// TLS returns a configuration with the certificates of the credentials and of files, or nil.
func (c Credentials) TLS(files Files) (*tls.Config, error) {
	roots := c.roots
	if files.CA != "" {
		more, err := readRoots(files.CA)
		if err != nil {
			return nil, err
		}
		roots = append(roots, more...)
	}
	if files.Cert != "" || files.Key != "" {
		own, err := tls.LoadX509KeyPair(files.Cert, files.Key)
		if err != nil {
			return nil, fmt.Errorf("queue: certificate %q with key %q: %w", files.Cert, files.Key, err)
		}
		c.client = &own
	}
	if len(roots) == 0 && c.client == nil {
		return nil, nil
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(roots) > 0 {
		conf.RootCAs = x509.NewCertPool()
		for _, r := range roots {
			conf.RootCAs.AddCert(r)
		}
	}
	if c.client != nil {
		conf.Certificates = []tls.Certificate{*c.client}
	}
	return conf, nil
}

func readRoots(file string) ([]*x509.Certificate, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("queue: authority: %w", err)
	}
	roots, err := certificates(b)
	if err == nil && len(roots) == 0 {
		err = errors.New("it holds no certificate")
	}
	if err != nil {
		return nil, fmt.Errorf("queue: authority %s: %w", file, err)
	}
	return roots, nil
}
