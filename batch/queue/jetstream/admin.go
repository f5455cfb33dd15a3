package jetstream

import (
	"context"
	"net"
	"os"
	"path/filepath"

	"vidfilter/batch/queue/jetstream/pki"
)

// Admin manages the credentials of a queue in the folder of its state, on the machine of the queue.
type Admin struct {
	keys *pki.Keys
	dir  string
	addr string // of the server, or ""
}

// OpenAdmin opens a folder that Serve has made. addr is where its server listens, "" if it does not
// run.
func OpenAdmin(dir, addr string, own pki.Files) (*Admin, error) {
	keys := filepath.Join(dir, "keys")
	if _, err := os.Stat(keys); err != nil {
		return nil, errorf("it is the folder behind --state of vidfilter serve, after its first start", err, "queue: no keys in %s", dir)
	}
	k, err := pki.OpenKept(keys, own)
	if err != nil {
		return nil, &Error{err.Error(), err}
	}
	return &Admin{keys: k, dir: dir, addr: local(addr)}, nil
}

// local replaces a wildcard address by this machine's.
func local(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err == nil && (ip == nil || ip.IsUnspecified()) {
		return net.JoinHostPort("localhost", port)
	}
	return addr
}

// Issue writes the file of a new credential; file is NAME.creds in the folder if it is "".
func (a *Admin) Issue(name string, role pki.Role, file string) (string, error) {
	b, err := a.keys.Issue(name, role)
	if err != nil {
		return "", &Error{err.Error(), err}
	}
	return a.write(name, file, b)
}

// Rotate writes another file of a credential. The earlier ones are shut out, except if keep is
// set.
func (a *Admin) Rotate(ctx context.Context, name string, keep bool, file string) (string, error) {
	b, err := a.keys.Rotate(name, keep)
	if err != nil {
		return "", &Error{err.Error(), err}
	}
	if file, err = a.write(name, file, b); err != nil || keep {
		return file, err
	}
	return file, a.push(ctx)
}

func (a *Admin) write(name, file string, b []byte) (string, error) {
	if file == "" {
		file = filepath.Join(a.dir, name+".creds")
	}
	return file, pki.WriteFile(file, b)
}

// Revoke shuts out the holders of a credential at once; with older, only those of files before the
// last.
func (a *Admin) Revoke(ctx context.Context, name string, older bool) error {
	if err := a.keys.Revoke(name, older); err != nil {
		return &Error{err.Error(), err}
	}
	return a.push(ctx)
}

func (a *Admin) push(ctx context.Context) error {
	if a.addr == "" {
		return nil
	}
	if err := a.keys.Push(ctx, a.addr); err != nil {
		return errorf("restart vidfilter serve: it shuts them out when it starts", err, "queue: the revocation is stored, but the running server did not take it: %v", err)
	}
	return nil
}

// List returns all credentials, and how many connections each has; connected is nil if no server
// runs.
func (a *Admin) List(ctx context.Context) (all pki.Registry, connected map[string]int, err error) {
	if all, err = a.keys.List(); err != nil || a.addr == "" {
		return all, nil, err
	}
	connected, err = a.keys.Connected(ctx, a.addr)
	return all, connected, err
}

// Engine opens the queue with all rights.
func (a *Admin) Engine(prefix string) (*Engine, error) {
	nc, err := a.keys.Dial(a.addr)
	if err != nil {
		return nil, err
	}
	return open(nc, Options{Prefix: prefix})
}

// Drain tells the workers of a credential, or of all if the name is "all", to take no more tasks.
// It is an error if there are none.
func (a *Admin) Drain(name, prefix string) error {
	if a.addr == "" {
		return errorf("there are no workers to drain before vidfilter serve runs", nil, "queue: no server runs on %s", a.dir)
	}
	if name != everyone {
		if err := a.keys.Known(name); err != nil {
			return &Error{err.Error(), err}
		}
	}
	nc, err := a.keys.Dial(a.addr)
	if err != nil {
		return err
	}
	defer nc.Close()
	n := names(Options{Prefix: prefix}.withDefaults().Prefix)
	return n.sendDrain(nc, name)
}
