package fleet

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	natsd "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"vidfilter/internal/e2e"
)

// cluster is three servers as deploy/nats.conf describes them, with an operator and accounts.
type cluster struct {
	t      *testing.T
	dir    string // of certificates and tokens
	nodes  []*natsd.Server
	url    string
	system string
	key    nkeys.KeyPair // the operator's
	tokens map[string]string
}

func newCluster(t *testing.T, tenants ...string) (c *cluster, creds []string) {
	t.Helper()
	c = &cluster{t: t, dir: t.TempDir(), tokens: map[string]string{}}
	c.certificates()
	c.operator()
	for _, name := range tenants {
		creds = append(creds, c.account(name))
	}
	ports := freePorts(t, 6)
	var urls []string
	for i := range 3 {
		urls = append(urls, fmt.Sprintf("tls://127.0.0.1:%d", ports[i]))
		c.nodes = append(c.nodes, c.node(i, ports))
	}
	c.url = strings.Join(urls, ",")
	e2e.Until(t, "the cluster has a leader", func() bool {
		leaders := 0
		for _, n := range c.nodes {
			if !n.JetStreamIsCurrent() {
				return false
			}
			if n.JetStreamIsLeader() {
				leaders++
			}
		}
		return leaders == 1
	})
	return c, creds
}

func (c *cluster) write(name string, b []byte) string {
	c.t.Helper()
	name = filepath.Join(c.dir, name)
	e2e.Must(c.t, os.WriteFile(name, b, 0o600))
	return name
}

// certificates makes an authority and two certificates signed by it, for servers and for clients.
func (c *cluster) certificates() {
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	make := func(name string, cert *x509.Certificate, of *ecdsa.PrivateKey) {
		der := must(x509.CreateCertificate(rand.Reader, cert, ca, &of.PublicKey, key))
		c.write(name+".pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
		c.write(name+".key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: must(x509.MarshalPKCS8PrivateKey(of))}))
	}
	make("ca", ca, key)
	for name, usage := range map[string]x509.ExtKeyUsage{"server": x509.ExtKeyUsageServerAuth, "client": x509.ExtKeyUsageClientAuth} {
		make(name, &x509.Certificate{
			SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{usage},
		}, must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)))
	}
}

// operator makes the operator with a system account.
func (c *cluster) operator() {
	c.key = must(nkeys.CreateOperator())
	claims := jwt.NewOperatorClaims(must(c.key.PublicKey()))
	c.system = must(must(nkeys.CreateAccount()).PublicKey())
	claims.SystemAccount = c.system
	c.write("operator.jwt", []byte(must(claims.Encode(c.key))))
	c.tokens[c.system] = must(jwt.NewAccountClaims(c.system).Encode(c.key))
}

// account makes a tenant's account, as nsc add account would, and returns the credentials of a
// user of it.
func (c *cluster) account(name string) string {
	key, user := must(nkeys.CreateAccount()), must(nkeys.CreateUser())
	public := must(key.PublicKey())
	claims := jwt.NewAccountClaims(public)
	claims.Name = name
	claims.Limits.DiskStorage = 1 << 40
	claims.Limits.Streams, claims.Limits.Consumer = jwt.NoLimit, jwt.NoLimit
	c.tokens[public] = must(claims.Encode(c.key))
	token := must(jwt.NewUserClaims(must(user.PublicKey())).Encode(key))
	return c.write(name+".creds", must(jwt.FormatUserConfig(token, must(user.Seed()))))
}

// node starts a server with the example's configuration, adapted to the test.
func (c *cluster) node(i int, ports []int) *natsd.Server {
	t := c.t
	t.Helper()
	conf := example(t, "nats.conf")
	state := t.TempDir()
	replace := func(old, new string) {
		if !strings.Contains(conf, old) {
			t.Fatalf("deploy/nats.conf has no %s any more", old)
		}
		conf = strings.ReplaceAll(conf, old, new)
	}
	replace("server_name: nats1", fmt.Sprintf("server_name: n%d", i))
	replace("listen: 0.0.0.0:4222", fmt.Sprintf("listen: 127.0.0.1:%d", ports[i]))
	replace("listen: 0.0.0.0:6222", fmt.Sprintf("listen: 127.0.0.1:%d", ports[3+i]))
	for k := range 3 {
		replace(fmt.Sprintf("nats://nats%d:6222", k+1), fmt.Sprintf("nats://127.0.0.1:%d", ports[3+k]))
	}
	replace("/etc/nats", c.dir)
	replace("/var/lib/nats", state)
	e2e.Must(t, os.MkdirAll(filepath.Join(state, "jwt"), 0o777))
	for name, token := range c.tokens {
		e2e.Must(t, os.WriteFile(filepath.Join(state, "jwt", name+".jwt"), []byte(token), 0o600))
	}
	o := must(natsd.ProcessConfigFile(c.write(fmt.Sprintf("n%d.conf", i), []byte(conf))))
	if !o.SyncAlways {
		t.Error("deploy/nats.conf does not write each message through")
	}
	o.NoSigs, o.NoLog = true, true
	n := must(natsd.NewServer(o))
	n.Start()
	t.Cleanup(func() { n.Shutdown(); n.WaitForShutdown() })
	return n
}

func freePorts(t *testing.T, n int) (ports []int) {
	t.Helper()
	for range n {
		l := must(net.Listen("tcp", "127.0.0.1:0"))
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// link has the options by which a tenant reaches the cluster.
func (c *cluster) link(creds string) []string {
	file := func(name string) string { return filepath.Join(c.dir, name) }
	return []string{
		"--server", c.url, "--creds", creds, "--tls-ca", file("ca.pem"), "--tls-cert", file("client.pem"), "--tls-key", file("client.key"),
		"--replicas", "3",
	}
}

// In a cluster of three, two tenants do not see each other's jobs, and the loss of a server stops
// no batch.
func TestCluster(t *testing.T) {
	e2e.Start(t, false)
	c, creds := newCluster(t, "archive", "studio")
	dir := t.TempDir()
	in, out, out2 := clips(t), filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "out2")
	batch := func(out, creds string) *process {
		return run(t, slices.Concat([]string{"batch", in, "-o", out, "--jobs", "1", "--progress", "plain", "--lease", "5s"}, c.link(creds), media)...)
	}
	list := func(creds string) string { return run(t, append([]string{"jobs"}, c.link(creds)...)...).exit(0) }
	first := batch(out, creds[0])
	first.Says("started")
	w := run(t, slices.Concat([]string{"worker", "--jobs", "1", "--work", dir}, c.link(creds[0]))...)
	child := w.caught("--part=")
	e2e.Contains(t, list(creds[1]), "0 jobs")
	second := batch(out2, creds[1])
	second.Says("started")
	if said := list(creds[1]); strings.Count(said, ".mp4") != 1 {
		t.Errorf("a tenant sees %s", said)
	}
	c.nodes[0].Shutdown()
	_ = syscall.Kill(child, syscall.SIGCONT)
	first.exit(0)
	second.exit(0)
	whole(t, out)
	whole(t, out2)
	e2e.Contains(t, list(creds[0]), "2 done")
	w.ended(dir)
	e2e.Contains(t, run(t, "worker", "--server", c.url, "--tls-ca", filepath.Join(c.dir, "ca.pem")).exit(queueCode), "hint: ")
}
