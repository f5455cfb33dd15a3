// Package pki holds the keys of a queue's server: a private certificate authority, mutual TLS,
// and a NATS operator with an account whose users have roles.
package pki

import (
	"bytes"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"

	"vidfilter/internal/hint"
)

// Keys are one server's.
type Keys struct {
	dir       string
	operator  operatorKeys
	authority pair                // signs the clients' certificates, and the server's by default
	roots     []*x509.Certificate // trusted by clients
	conf      *tls.Config
}

// Open returns the keys kept in a folder, and makes those that are missing. If own names a
// certificate it is used instead of one from the private authority, and read again for each
// connection; own.CA signed it, and may be "" if clients trust it anyway. hosts are names of this
// machine besides its own name, its addresses and localhost.
func Open(dir string, own Files, hosts []string) (*Keys, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}
	k, err := load(dir)
	if err != nil {
		return nil, err
	}
	k.conf = &tls.Config{MinVersion: tls.VersionTLS12, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: x509.NewCertPool()}
	k.conf.ClientCAs.AddCert(k.authority.cert)
	if own != (Files{}) {
		return k, k.useOwn(own)
	}
	return k, k.issueServer(dir, ownHosts(hosts))
}

// OpenKept returns the keys of a server that was started before, and may run. They lack its own
// certificate.
func OpenKept(dir string, own Files) (*Keys, error) {
	k, err := load(dir)
	switch {
	case err != nil:
	case own.CA != "":
		k.roots, err = readRoots(own.CA)
	case own.Cert == "":
		k.roots = []*x509.Certificate{k.authority.cert}
	}
	return k, err
}

// load returns the keys in a folder without a certificate of the server. It makes those that are
// missing.
func load(dir string) (*Keys, error) {
	k := &Keys{dir: dir}
	var err error
	if k.operator, err = newOperatorKeys(dir); err == nil {
		k.authority, err = kept(filepath.Join(dir, "authority.pem"), parsePair, pair.pem, anyKey, newAuthority)
	}
	return k, err
}

func (k *Keys) issueServer(dir string, hosts []string) error {
	p, err := kept(filepath.Join(dir, "server.pem"), parsePair, pair.pem,
		func(p pair) bool { return p.serves(k.authority, hosts) },
		func() (pair, error) { return newServerCert(k.authority, hosts) })
	if err != nil {
		return err
	}
	k.conf.Certificates = p.tls()
	k.roots = []*x509.Certificate{k.authority.cert}
	return nil
}

func (k *Keys) useOwn(own Files) (err error) {
	if own.Cert == "" || own.Key == "" {
		return hint.Errorf("give both files, or none",
			"queue: a certificate of your own needs its key, and a key or authority its certificate")
	}
	load := func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		c, err := tls.LoadX509KeyPair(own.Cert, own.Key)
		return &c, err
	}
	if _, err := load(nil); err != nil {
		return fmt.Errorf("queue: certificate %s with key %s: %w", own.Cert, own.Key, err)
	}
	k.conf.GetCertificate = load
	if own.CA != "" {
		k.roots, err = readRoots(own.CA)
	}
	return err
}

// Secure makes a server ask its clients for a certificate and credentials of these keys, and trust
// no others.
func (k *Keys) Secure(so *server.Options) (err error) {
	so.TLSConfig, so.TLSVerify, so.TLSTimeout = k.conf, true, 10
	so.TrustedOperators = append(so.TrustedOperators, k.operator.claims)
	so.SystemAccount, err = k.operator.system.PublicKey()
	return err
}

// Resolver returns the accounts for a start of a server. They can be updated while it runs.
func (k *Keys) Resolver(grants Grants, maxStore int64) (server.AccountResolver, error) {
	list, err := readRegistry(k.dir)
	if err != nil {
		return nil, err
	}
	token, err := k.operator.accountToken(list, grants, maxStore, k.earlier())
	if err != nil {
		return nil, err
	}
	system, systemToken, err := k.operator.systemToken()
	if err != nil {
		return nil, err
	}
	// There are no other accounts: an unknown one must be refused before the first ping, at 2 s.
	accounts, err := server.NewDirAccResolver(k.accounts(), 16, 0, server.NoDelete, server.FetchTimeout(time.Second/4))
	if err != nil {
		return nil, err
	}
	return accounts, errors.Join(accounts.Store(k.operator.account, token), accounts.Store(system, systemToken))
}

// earlier returns the revocations of the last start, should the list of credentials be lost.
func (k *Keys) earlier() jwt.RevocationList {
	if account, err := k.lastAccount(); err == nil {
		return account.Revocations
	}
	return nil
}

// lastAccount returns the account of the last start.
func (k *Keys) lastAccount() (*jwt.AccountClaims, error) {
	b, err := os.ReadFile(filepath.Join(k.accounts(), k.operator.account+".jwt"))
	if err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}
	account, err := jwt.DecodeAccountClaims(string(b))
	if err != nil {
		return nil, fmt.Errorf("queue: the account: %w", err)
	}
	return account, nil
}

func (k *Keys) accounts() string { return filepath.Join(k.dir, "accounts") }

// ServerUser returns credentials for the server's own connection, which may do anything.
func (k *Keys) ServerUser() ([]byte, error) { return ownUser(k.operator.accountKey) }

// Secret returns a secret of the server for a purpose.
func (k *Keys) Secret(purpose string) ([]byte, error) {
	seed, err := k.operator.accountKey.Seed()
	if err != nil {
		return nil, err
	}
	return hkdf.Key(sha256.New, seed, nil, "vidfilter "+purpose, sha256.Size)
}

// Issue makes a credential and returns its file's content. It fails if there is one with this
// name.
func (k *Keys) Issue(name string, role Role) (file []byte, err error) {
	if err := errors.Join(CheckName(name), checkRole(role)); err != nil {
		return nil, err
	}
	err = change(k.dir, func(r *Registry) error {
		i := r.find(name)
		if i >= 0 && (*r)[i].Live() {
			return wrongName("vidfilter serve credentials rotate "+name+" makes another file of it; issue does after revoke", "queue: there is a credential %q already", name)
		}
		if i < 0 {
			*r, i = append(*r, Credential{Name: name}), len(*r)
		}
		(*r)[i].Role = role
		file, err = k.add(&(*r)[i])
		return err
	})
	return file, err
}

// Rotate issues another file for a credential. The earlier ones are no longer accepted, except if
// keep is set.
func (k *Keys) Rotate(name string, keep bool) (file []byte, err error) {
	err = k.existing(name, func(c *Credential) error {
		if !keep {
			c.revoke(0, time.Now().UTC())
		}
		file, err = k.add(c)
		return err
	})
	return file, err
}

// Revoke shuts the holders of a credential out; with older, only those of files before the last.
func (k *Keys) Revoke(name string, older bool) error {
	return k.existing(name, func(c *Credential) error {
		n := 0
		if older {
			n = 1
		}
		if !c.revoke(n, time.Now().UTC()) {
			return fmt.Errorf("queue: no file of the credential %q was left to revoke", name)
		}
		return nil
	})
}

func (k *Keys) existing(name string, f func(c *Credential) error) error {
	return change(k.dir, func(r *Registry) error {
		i := r.find(name)
		if i < 0 {
			return errUnknown(name)
		}
		return f(&(*r)[i])
	})
}

func errUnknown(name string) error {
	return wrongName("vidfilter serve credentials list shows all", "queue: there is no credential %q", name)
}

// Known returns an error if there is no credential of a name.
func (k *Keys) Known(name string) error {
	r, err := readRegistry(k.dir)
	if err == nil && r.find(name) < 0 {
		err = errUnknown(name)
	}
	return err
}

// List returns all credentials.
func (k *Keys) List() (Registry, error) { return readRegistry(k.dir) }

// add adds a key to a credential and returns its file.
func (k *Keys) add(c *Credential) ([]byte, error) {
	public, user, err := k.operator.newUser(c.Name, c.Role)
	if err != nil {
		return nil, err
	}
	client, err := newClientCert(k.authority, c.Name)
	if err != nil {
		return nil, err
	}
	key, err := client.keyPEM()
	if err != nil {
		return nil, err
	}
	c.Keys = append(c.Keys, Key{Public: public, Issued: time.Now().UTC()})
	return bytes.Join([][]byte{user, pemOf(k.roots), client.certPEM(), key}, nil), nil
}

// Keep makes sure that a file lets the holder of a credential in, unless that is revoked.
func (k *Keys) Keep(file, name string, role Role) error {
	c, known := k.accept(file)
	list, err := k.List()
	if err != nil {
		return err
	}
	i := list.find(name)
	if i >= 0 && (!list[i].Live() || known && list[i].has(c.Key())) {
		return nil
	}
	var b []byte
	if i < 0 {
		b, err = k.Issue(name, role)
	} else {
		b, err = k.Rotate(name, true)
	}
	if err != nil {
		return err
	}
	return WriteFile(file, b)
}

// accept reads a credentials file, and reports whether it has certificates of these keys.
func (k *Keys) accept(file string) (c Credentials, ok bool) {
	b, err := os.ReadFile(file)
	if err != nil {
		return c, false
	}
	c, err = parseCredentials(b)
	return c, err == nil && c.client != nil && c.client.Leaf.CheckSignatureFrom(k.authority.cert) == nil &&
		bytes.Equal(pemOf(c.roots), pemOf(k.roots))
}
