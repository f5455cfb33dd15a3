package pki

import (
	"maps"
	"slices"

	"github.com/nats-io/jwt/v2"
)

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
