package jetstream

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// creds is what a file of credentials holds: a user's token and seed, as every NATS program reads them, and, in files that Serve
// makes, certificates: those that the server's must be signed by, and the client's own.
type creds struct {
	user   []byte // the file, for nats.go
	roots  []*x509.Certificate
	client *tls.Certificate
}

func readCreds(file string) (creds, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return creds{}, &Error{"queue: credentials: " + err.Error(), "copy worker.creds from the server's folder", err}
	}
	c, err := parseCreds(b)
	if err != nil {
		return c, &Error{fmt.Sprintf("queue: %s holds no credentials: %v", file, err), "copy worker.creds from the server's folder once more", err}
	}
	return c, nil
}

func parseCreds(b []byte) (c creds, err error) {
	c.user = b
	token, err := jwt.ParseDecoratedJWT(b)
	if err != nil {
		return c, err
	}
	if _, err := jwt.DecodeUserClaims(token); err != nil {
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
	// The key belongs to one of them; the others are to be trusted.
	for i, cert := range certs {
		own := pem.EncodeToMemory(&pem.Block{Type: pemCert, Bytes: cert.Raw})
		if t, err := tls.X509KeyPair(own, b); err == nil {
			c.client = &t
			c.roots = append(c.roots, certs[:i]...)
			c.roots = append(c.roots, certs[i+1:]...)
			return c, nil
		}
	}
	return c, errors.New("no certificate fits its key")
}

// realm is the server's own operator with one account, of which all is derived again at each start from two seeds.
type realm struct {
	operator *jwt.OperatorClaims
	account  string // public key
	token    string // the account's
	key      nkeys.KeyPair
	system   string // the account that the server itself uses, another one at each start
	sysToken string
}

func newRealm(dir string) (r realm, err error) {
	op, err := keptSeed(filepath.Join(dir, "operator.seed"), nkeys.CreateOperator)
	if err != nil {
		return r, err
	}
	if r.key, err = keptSeed(filepath.Join(dir, "account.seed"), nkeys.CreateAccount); err != nil {
		return r, err
	}
	name, err := op.PublicKey()
	if err != nil {
		return r, err
	}
	claims := jwt.NewOperatorClaims(name)
	claims.Name = "vidfilter"
	token, err := claims.Encode(op)
	if err != nil {
		return r, err
	}
	if r.operator, err = jwt.DecodeOperatorClaims(token); err != nil {
		return r, err
	}
	if r.account, err = r.key.PublicKey(); err != nil {
		return r, err
	}
	account := jwt.NewAccountClaims(r.account)
	account.Name = "vidfilter"
	account.Limits.JetStreamLimits = jwt.JetStreamLimits{
		MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit,
	}
	if r.token, err = account.Encode(op); err != nil {
		return r, err
	}
	return r, r.newSystem(op)
}

func (r *realm) newSystem(op nkeys.KeyPair) error {
	k, err := nkeys.CreateAccount()
	if err != nil {
		return err
	}
	if r.system, err = k.PublicKey(); err != nil {
		return err
	}
	account := jwt.NewAccountClaims(r.system)
	account.Name = "system"
	r.sysToken, err = account.Encode(op)
	return err
}

func keptSeed(file string, make func() (nkeys.KeyPair, error)) (nkeys.KeyPair, error) {
	b, err := os.ReadFile(file)
	if err == nil {
		k, err := nkeys.FromSeed(bytes.TrimSpace(b))
		if err != nil {
			return nil, fmt.Errorf("queue: %s: %w", file, err)
		}
		return k, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("queue: %w", err)
	}
	k, err := make()
	if err != nil {
		return nil, err
	}
	seed, err := k.Seed()
	if err != nil {
		return nil, err
	}
	return k, writeSecret(file, append(seed, '\n'))
}

// newUser returns the credentials of a user, as a file has them.
func (r realm) newUser(name string) ([]byte, error) {
	k, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	public, err := k.PublicKey()
	if err != nil {
		return nil, err
	}
	claims := jwt.NewUserClaims(public)
	claims.Name = name
	token, err := claims.Encode(r.key)
	if err != nil {
		return nil, err
	}
	seed, err := k.Seed()
	if err != nil {
		return nil, err
	}
	return jwt.FormatUserConfig(token, seed)
}

// workerCreds makes sure that there is a file that workers can use with this server.
func (r realm) workerCreds(file string, authority pair, roots []*x509.Certificate) error {
	if b, err := os.ReadFile(file); err == nil {
		c, err := parseCreds(b)
		if err == nil && c.client != nil && c.client.Leaf.CheckSignatureFrom(authority.cert) == nil && bytes.Equal(pemOf(c.roots), pemOf(roots)) {
			return nil
		}
	}
	user, err := r.newUser("worker")
	if err != nil {
		return err
	}
	client, err := newClientCert(authority)
	if err != nil {
		return err
	}
	key, err := client.keyPEM()
	if err != nil {
		return err
	}
	return writeSecret(file, bytes.Join([][]byte{user, pemOf(roots), client.certPEM(), key}, nil))
}

// options lets a connection use the credentials.
func (c creds) options() []nats.Option {
	if len(c.user) == 0 {
		return nil
	}
	return []nats.Option{nats.UserCredentialBytes(c.user)}
}
