package pki

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// Push makes the server that runs at an address of this machine take the present list of
// credentials: it disconnects the holders of revoked ones.
func (k *Keys) Push(ctx context.Context, addr string) error {
	list, err := readRegistry(k.dir)
	if err != nil {
		return err
	}
	account, err := k.lastAccount()
	if err != nil {
		return err
	}
	list.revokeIn(account)
	token, err := account.Encode(k.operator.key)
	if err != nil {
		return err
	}
	return k.asSystem(ctx, addr, "$SYS.REQ.CLAIMS.UPDATE", []byte(token), nil)
}

// Connected counts the connections of each credential at the server.
func (k *Keys) Connected(ctx context.Context, addr string) (map[string]int, error) {
	var found struct {
		Connections []struct {
			User string `json:"jwt"`
		} `json:"connections"`
	}
	ask := fmt.Sprintf(`{"auth":true,"limit":4096,"acc":%q}`, k.operator.account)
	err := k.asSystem(ctx, addr, "$SYS.REQ.ACCOUNT."+k.operator.account+".CONNZ", []byte(ask), &found)
	n := map[string]int{}
	for _, c := range found.Connections {
		if claims, err := jwt.DecodeUserClaims(c.User); err == nil {
			n[(Credentials{claims: claims}).Name()]++
		}
	}
	return n, err
}

// Dial connects to the server at an address of this machine as its own user, who may do anything.
func (k *Keys) Dial(addr string) (*nats.Conn, error) { return k.dial(addr, k.operator.accountKey) }

func (k *Keys) dial(addr string, account nkeys.KeyPair) (*nats.Conn, error) {
	user, err := ownUser(account)
	if err != nil {
		return nil, err
	}
	client, err := newClientCert(k.authority, "server")
	if err != nil {
		return nil, err
	}
	// The server is on this machine, and what it gets is signed and no secret.
	conf := &tls.Config{
		MinVersion: tls.VersionTLS12, InsecureSkipVerify: true,
		Certificates: client.tls(),
	}
	nc, err := nats.Connect("tls://"+addr, nats.UserCredentialBytes(user), nats.Secure(conf), nats.Timeout(5*time.Second), nats.Name("vidfilter serve"))
	if err != nil {
		return nil, fmt.Errorf("queue: the server at %s: %w", addr, err)
	}
	return nc, nil
}

// asSystem sends a request to the server itself.
func (k *Keys) asSystem(ctx context.Context, addr, subject string, body []byte, data any) error {
	nc, err := k.dial(addr, k.operator.system)
	if err != nil {
		return err
	}
	defer nc.Close()
	m, err := nc.RequestWithContext(ctx, subject, body)
	if err != nil {
		return fmt.Errorf("queue: the server at %s: %w", addr, err)
	}
	var answer struct {
		Data  json.RawMessage `json:"data"`
		Error *struct {
			Description string `json:"description"`
		} `json:"error"`
	}
	switch err := json.Unmarshal(m.Data, &answer); {
	case err != nil:
		return fmt.Errorf("queue: the server at %s: %w", addr, err)
	case answer.Error != nil:
		return errors.New("queue: the server at " + addr + ": " + answer.Error.Description)
	case data != nil:
		return json.Unmarshal(answer.Data, data)
	}
	return nil
}
