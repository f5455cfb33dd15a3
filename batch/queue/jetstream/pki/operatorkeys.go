package pki

import (
	"bytes"
	"path/filepath"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// operatorKeys is the server's own NATS operator with one account. Everything is derived from
// seeds.
type operatorKeys struct {
	claims     *jwt.OperatorClaims
	key        nkeys.KeyPair
	account    string // public key
	accountKey nkeys.KeyPair
	roles      map[Role]nkeys.KeyPair // sign the users of each role
	system     nkeys.KeyPair          // account of the server itself
}

func newOperatorKeys(dir string) (r operatorKeys, err error) {
	seed := func(name string, make func() (nkeys.KeyPair, error)) (k nkeys.KeyPair) {
		if err == nil {
			k, err = kept(filepath.Join(dir, name+".seed"), parseSeed, formatSeed, anyKey, make)
		}
		return k
	}
	r.key, r.accountKey, r.system = seed("operator", nkeys.CreateOperator), seed("account", nkeys.CreateAccount), seed("system", nkeys.CreateAccount)
	r.roles = map[Role]nkeys.KeyPair{}
	for _, role := range Roles {
		r.roles[role] = seed("role-"+string(role), nkeys.CreateAccount)
	}
	if err != nil {
		return r, err
	}
	name, err := r.key.PublicKey()
	if err != nil {
		return r, err
	}
	claims := jwt.NewOperatorClaims(name)
	claims.Name = "vidfilter"
	token, err := claims.Encode(r.key)
	if err != nil {
		return r, err
	}
	if r.claims, err = jwt.DecodeOperatorClaims(token); err != nil {
		return r, err
	}
	r.account, err = r.accountKey.PublicKey()
	return r, err
}

// accountToken returns the account's token: what each role may do, who is shut out, and how much
// the queue may store.
func (r operatorKeys) accountToken(list Registry, grants Grants, maxStore int64, earlier jwt.RevocationList) (string, error) {
	account := jwt.NewAccountClaims(r.account)
	account.Name = "vidfilter"
	account.Limits.JetStreamLimits = jwt.JetStreamLimits{
		MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit,
	}
	if maxStore > 0 {
		account.Limits.DiskStorage = maxStore
	}
	scopes, err := r.scopes(grants)
	if err != nil {
		return "", err
	}
	for _, s := range scopes {
		account.SigningKeys.AddScopedSigner(s)
	}
	account.DefaultPermissions = Grant{}.permissions() // of users without a role: empty
	account.Revocations = earlier
	list.revokeIn(account)
	return account.Encode(r.key)
}

// systemToken returns the token of the account of the server itself.
func (r operatorKeys) systemToken() (public, token string, err error) {
	if public, err = r.system.PublicKey(); err != nil {
		return "", "", err
	}
	account := jwt.NewAccountClaims(public)
	account.Name = "system"
	token, err = account.Encode(r.key)
	return public, token, err
}

func parseSeed(b []byte) (nkeys.KeyPair, error) { return nkeys.FromSeed(bytes.TrimSpace(b)) }

func formatSeed(k nkeys.KeyPair) ([]byte, error) {
	seed, err := k.Seed()
	return append(seed, '\n'), err
}

// newUser returns the key and the credentials file of a new user with a role.
func (r operatorKeys) newUser(name string, role Role) (public string, file []byte, err error) {
	claims, k, err := newClaims(name)
	if err != nil {
		return "", nil, err
	}
	claims.SetScoped(true)
	claims.IssuerAccount = r.account
	claims.Tags.Add(roleTag + string(role))
	file, err = userFile(claims, k, r.roles[role])
	return claims.Subject, file, err
}

// ownUser returns the credentials of a user of an account who may do anything there.
func ownUser(account nkeys.KeyPair) ([]byte, error) {
	claims, k, err := newClaims("server")
	if err != nil {
		return nil, err
	}
	claims.Permissions.Pub.Allow.Add(">")
	claims.Permissions.Sub.Allow.Add(">")
	return userFile(claims, k, account)
}

func newClaims(name string) (*jwt.UserClaims, nkeys.KeyPair, error) {
	k, err := nkeys.CreateUser()
	if err != nil {
		return nil, nil, err
	}
	public, err := k.PublicKey()
	if err != nil {
		return nil, nil, err
	}
	claims := jwt.NewUserClaims(public)
	claims.Name = name
	return claims, k, nil
}

func userFile(claims *jwt.UserClaims, k, signer nkeys.KeyPair) ([]byte, error) {
	token, err := claims.Encode(signer)
	if err != nil {
		return nil, err
	}
	seed, err := k.Seed()
	if err != nil {
		return nil, err
	}
	return jwt.FormatUserConfig(token, seed)
}
