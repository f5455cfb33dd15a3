package pki

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// realm is the server's own NATS operator with one account. Everything is derived from two seeds
// at each start.
type realm struct {
	operator *jwt.OperatorClaims
	account  string // public key
	token    string // the account's
	key      nkeys.KeyPair
	system   string // account of the server itself, a new one at each start
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

// newUser returns the credentials file of a new user.
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

// govern makes a server trust the realm and nothing else.
func (r realm) govern(so *server.Options) error {
	accounts := &server.MemAccResolver{}
	if err := errors.Join(accounts.Store(r.account, r.token), accounts.Store(r.system, r.sysToken)); err != nil {
		return err
	}
	so.SystemAccount = r.system
	so.TrustedOperators = append(so.TrustedOperators, r.operator)
	so.AccountResolver = accounts
	return nil
}
