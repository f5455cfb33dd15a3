package pki

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"slices"
	"time"

	"vidfilter/internal/durable"
)

const (
	pemCert = "CERTIFICATE"
	pemKey  = "PRIVATE KEY"
)

// lifetime of certificates made here. At a start, the server's certificate is renewed if less
// than the margin is left.
const (
	lifetime = 10 * 365 * 24 * time.Hour
	margin   = 90 * 24 * time.Hour
)

type pair struct {
	cert *x509.Certificate
	key  crypto.Signer
}

func (p pair) certPEM() []byte { return pemOf([]*x509.Certificate{p.cert}) }

func (p pair) keyPEM() ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(p.key)
	return pem.EncodeToMemory(&pem.Block{Type: pemKey, Bytes: der}), err
}

func (p pair) pem() ([]byte, error) {
	key, err := p.keyPEM()
	return append(p.certPEM(), key...), err
}

func (p pair) tls() []tls.Certificate {
	return []tls.Certificate{{Certificate: [][]byte{p.cert.Raw}, PrivateKey: p.key}}
}

// issue makes a certificate signed by the authority, or by itself if authority is nil.
func issue(template x509.Certificate, authority *pair) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return pair{}, err
	}
	template.SerialNumber = serial
	template.NotBefore = time.Now().Add(-24 * time.Hour) // clocks differ
	template.NotAfter = time.Now().Add(lifetime)
	template.BasicConstraintsValid = true
	by := pair{&template, key}
	if authority != nil {
		by = *authority
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, by.cert, key.Public(), by.key)
	if err != nil {
		return pair{}, err
	}
	cert, err := x509.ParseCertificate(der)
	return pair{cert, key}, err
}

func newAuthority() (pair, error) {
	return issue(x509.Certificate{
		Subject:    pkix.Name{CommonName: "vidfilter authority"},
		IsCA:       true,
		MaxPathLen: 0, MaxPathLenZero: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}, nil)
}

func newServerCert(authority pair, hosts []string) (pair, error) {
	t := x509.Certificate{
		Subject:     pkix.Name{CommonName: "vidfilter server"},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, h)
		}
	}
	return issue(t, &authority)
}

func newClientCert(authority pair, name string) (pair, error) {
	return issue(x509.Certificate{
		Subject:     pkix.Name{CommonName: "vidfilter " + name},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, &authority)
}

// serves reports whether p is a server's certificate from the authority that covers all hosts and
// will not expire soon.
func (p pair) serves(authority pair, hosts []string) bool {
	return p.cert.CheckSignatureFrom(authority.cert) == nil && time.Until(p.cert.NotAfter) > margin &&
		!slices.ContainsFunc(hosts, func(h string) bool { return p.cert.VerifyHostname(h) != nil })
}

// kept returns the key in a file. It makes a new one if the file is missing or good returns false.
func kept[T any](file string, parse func([]byte) (T, error), format func(T) ([]byte, error), good func(T) bool, make func() (T, error)) (k T, err error) {
	b, err := os.ReadFile(file)
	switch {
	case err == nil:
		if k, err = parse(b); err != nil {
			return k, fmt.Errorf("queue: %s: %w", file, err)
		}
		if good(k) {
			return k, nil
		}
	case !errors.Is(err, fs.ErrNotExist):
		return k, fmt.Errorf("queue: %w", err)
	}
	if k, err = make(); err == nil {
		b, err = format(k)
	}
	if err != nil {
		return k, fmt.Errorf("queue: %s: %w", file, err)
	}
	return k, WriteFile(file, b)
}

// anyKey takes every key.
func anyKey[T any](T) bool { return true }

func parsePair(b []byte) (pair, error) {
	t, err := tls.X509KeyPair(b, b)
	if err != nil {
		return pair{}, err
	}
	key, ok := t.PrivateKey.(crypto.Signer)
	if !ok {
		return pair{}, fmt.Errorf("unsupported key type %T", t.PrivateKey)
	}
	return pair{t.Leaf, key}, nil
}

// WriteFile atomically writes a file that only its owner may read.
func WriteFile(file string, b []byte) error {
	if err := durable.WriteSecret(file, b); err != nil {
		return fmt.Errorf("queue: writing %s: %w", file, err)
	}
	return nil
}

// ownHosts returns more and the names and addresses of this machine.
func ownHosts(more []string) []string {
	hosts := append(slices.Clone(more), "localhost", "127.0.0.1", "::1")
	if name, err := os.Hostname(); err == nil {
		hosts = append(hosts, name)
	}
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			hosts = append(hosts, n.IP.String())
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

func certificates(b []byte) (certs []*x509.Certificate, err error) {
	for {
		var block *pem.Block
		block, b = pem.Decode(b)
		if block == nil {
			return certs, nil
		}
		if block.Type != pemCert {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		certs = append(certs, c)
	}
}

func pemOf(certs []*x509.Certificate) []byte {
	var b bytes.Buffer
	for _, c := range certs {
		_ = pem.Encode(&b, &pem.Block{Type: pemCert, Bytes: c.Raw})
	}
	return b.Bytes()
}
