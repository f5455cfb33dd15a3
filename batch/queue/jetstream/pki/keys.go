// Package pki holds the keys of a queue's server: a private certificate authority, mutual TLS,
// and a NATS operator whose one account the workers use.
package pki

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nats-io/nats-server/v2/server"

	"vidfilter/internal/hint"
)

// Keys are those of one server.
type Keys struct {
	realm     realm
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
	k := &Keys{}
	var err error
	if k.realm, err = newRealm(dir); err != nil {
		return nil, err
	}
	if k.authority, err = keptPair(filepath.Join(dir, "authority.pem"), func(pair) bool { return true }, newAuthority); err != nil {
		return nil, err
	}
	k.conf = &tls.Config{MinVersion: tls.VersionTLS12, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: x509.NewCertPool()}
	k.conf.ClientCAs.AddCert(k.authority.cert)
	if own != (Files{}) {
		return k, k.useOwn(own)
	}
	return k, k.issueServer(dir, ownHosts(hosts))
}

func (k *Keys) issueServer(dir string, hosts []string) error {
	p, err := keptPair(filepath.Join(dir, "server.pem"),
		func(p pair) bool { return p.serves(k.authority, hosts) },
		func() (pair, error) { return newServerCert(k.authority, hosts) })
	if err != nil {
		return err
	}
	k.conf.Certificates = []tls.Certificate{{Certificate: [][]byte{p.cert.Raw}, PrivateKey: p.key}}
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

// Secure makes a server ask its clients for a certificate and credentials of these keys.
func (k *Keys) Secure(so *server.Options) error {
	so.TLSConfig, so.TLSVerify, so.TLSTimeout = k.conf, true, 10
	return k.realm.govern(so)
}

// ServerUser returns credentials for the server's own connection.
func (k *Keys) ServerUser() ([]byte, error) { return k.realm.newUser("server") }

// WriteCredentials makes sure that a file holds credentials that let workers in.
func (k *Keys) WriteCredentials(file string) error {
	if k.accept(file) {
		return nil
	}
	user, err := k.realm.newUser("worker")
	if err != nil {
		return err
	}
	client, err := newClientCert(k.authority)
	if err != nil {
		return err
	}
	key, err := client.keyPEM()
	if err != nil {
		return err
	}
	return writeSecret(file, bytes.Join([][]byte{user, pemOf(k.roots), client.certPEM(), key}, nil))
}

// accept reports whether a credentials file has certificates of these keys.
func (k *Keys) accept(file string) bool {
	b, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	c, err := parseCredentials(b)
	return err == nil && c.client != nil && c.client.Leaf.CheckSignatureFrom(k.authority.cert) == nil &&
		bytes.Equal(pemOf(c.roots), pemOf(k.roots))
}
