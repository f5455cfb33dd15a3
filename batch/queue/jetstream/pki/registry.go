package pki

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/jwt/v2"

	"vidfilter/internal/durable"
	"vidfilter/internal/hint"
)

// Credential is an entry of a Registry.
type Credential struct {
	Name string `json:"name"`
	Role Role   `json:"role"`
	Keys []Key  `json:"keys"` // the latest last
}

// Key is a user's key. A credential has several after it was rotated.
type Key struct {
	Public  string    `json:"public"` // "" for a file that was never seen
	Issued  time.Time `json:"issued"`
	Revoked time.Time `json:"revoked,omitzero"`
}

// Live reports whether a key of the credential lets its holder in.
func (c Credential) Live() bool {
	return slices.ContainsFunc(c.Keys, func(k Key) bool { return k.Revoked.IsZero() })
}

// has reports whether a key of the credential lets its holder in.
func (c Credential) has(public string) bool {
	return slices.ContainsFunc(c.Keys, func(k Key) bool { return k.Public == public && k.Revoked.IsZero() })
}

// revoke revokes the keys but the last n.
func (c *Credential) revoke(n int, now time.Time) (changed bool) {
	for i := range c.Keys[:max(0, len(c.Keys)-n)] {
		if c.Keys[i].Revoked.IsZero() {
			c.Keys[i].Revoked, changed = now, true
		}
	}
	return changed
}

// Registry lists all credentials that were issued: keys/credentials.json.
type Registry []Credential

func (r Registry) find(name string) int {
	return slices.IndexFunc(r, func(c Credential) bool { return c.Name == name })
}

// revokeIn revokes the revoked keys in an account.
func (r Registry) revokeIn(account *jwt.AccountClaims) {
	for _, c := range r {
		for _, k := range c.Keys {
			if !k.Revoked.IsZero() && k.Public != "" {
				account.RevokeAt(k.Public, time.Now().Add(time.Hour)) // clocks differ, and the key is not used again
			}
		}
	}
}

const registryFile = "credentials.json"

func readRegistry(dir string) (r Registry, err error) {
	b, err := os.ReadFile(filepath.Join(dir, registryFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	if err != nil {
		return nil, fmt.Errorf("queue: %s: %w", filepath.Join(dir, registryFile), err)
	}
	return r, nil
}

// change changes the registry of a folder. It locks out other processes.
func change(dir string, f func(r *Registry) error) error {
	lock, err := durable.LockWait(filepath.Join(dir, "credentials.lock"))
	if err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	defer lock.Close()
	r, err := readRegistry(dir)
	if err != nil {
		return err
	}
	if err := f(&r); err != nil {
		return err
	}
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return WriteFile(filepath.Join(dir, registryFile), append(b, '\n'))
}

var credentialName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,62}$`) })

// All stands for all names: a machine of this name could drain the workers of others.
const All = "all"

// ErrName is wrapped by errors of a name that was given: it cannot be one, is taken, or is unknown.
var ErrName = errors.New("the name of a credential")

func wrongName(advice, format string, args ...any) error {
	return hint.Says(fmt.Sprintf(format, args...), advice, ErrName)
}

// CheckName returns an error, which wraps ErrName, for a name that no credential can have.
func CheckName(name string) error {
	if !credentialName().MatchString(name) || slices.Contains([]string{"server", All}, name) {
		return wrongName("letters, digits and dashes, as render-07; not server or all", "queue: %q is no name for a credential", name)
	}
	return nil
}

func checkRole(role Role) error {
	if !slices.Contains(Roles, role) {
		return hint.Errorf(fmt.Sprintf("one of %v", Roles), "queue: no role %q", role)
	}
	return nil
}

// Role says what the holder of a credential may do.
type Role string

const (
	Worker    Role = "worker"    // takes parts and returns them
	Submitter Role = "submitter" // submits jobs, joins their parts, and works like a worker
	Observer  Role = "observer"  // reads
	Operator  Role = "operator"  // a submitter who also cancels, retries and drains others' jobs
	Agent     Role = "agent"     // runs the batches of submitters, with their rights only
)

// Roles are all roles.
var Roles = []Role{Worker, Submitter, Observer, Operator, Agent}

// Grant lists the subjects that a role may publish and subscribe to. {{name()}} stands for the
// name of the credential.
type Grant struct{ Publish, Subscribe []string }

// Grants are all roles' grants.
type Grants map[Role]Grant

// nobody is a subject without traffic: NATS takes an empty list for permission.
const nobody = "_NOBODY"

func (g Grant) permissions() (p jwt.Permissions) {
	p.Pub.Allow.Add(append(slices.Clone(g.Publish), nobody)...)
	p.Sub.Allow.Add(append(slices.Clone(g.Subscribe), nobody)...)
	return p
}

// scopes returns the signing keys of the roles with their users' rights. The server looks it up in
// the account, so a new version of the program may grant more or less to existing users.
func (r operatorKeys) scopes(grants Grants) (all []*jwt.UserScope, err error) {
	for _, role := range slices.Sorted(maps.Keys(r.roles)) {
		s := jwt.NewUserScope()
		s.Role = string(role)
		s.Template.Permissions = grants[role].permissions()
		if s.Key, err = r.roles[role].PublicKey(); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}
