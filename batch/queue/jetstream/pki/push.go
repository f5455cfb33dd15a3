package pki

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
)

// Push makes the server that runs at an address of this machine take the present list of
// credentials: it disconnects the holders of revoked ones.
func (k *Keys) Push(ctx context.Context, addr string) error {
	list, err := readRegistry(k.dir)
	if err != nil {
		return err
	}
	b, err := os.ReadFile(k.accountFile())
	if err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	account, err := jwt.DecodeAccountClaims(string(b))
	if err != nil {
		return fmt.Errorf("queue: the account: %w", err)
	}
	for _, key := range list.revoked() {
		account.RevokeAt(key, time.Now().Add(time.Hour))
	}
	if !list.legacy() {
		account.DefaultPermissions = Grant{}.permissions()
	}
	token, err := account.Encode(k.realm.op)
	if err != nil {
		return err
	}
	return k.asSystem(ctx, addr, "$SYS.REQ.CLAIMS.UPDATE", []byte(token), nil)
}

// Connected counts the connections of each credential at the server.
func (k *Keys) Connected(ctx context.Context, addr string) (map[string]int, error) {
	var found struct {
		Connections []struct {
			Name string `json:"name_tag"`
		} `json:"connections"`
	}
	ask := fmt.Sprintf(`{"auth":true,"limit":4096,"acc":%q}`, k.realm.account)
	err := k.asSystem(ctx, addr, "$SYS.REQ.ACCOUNT."+k.realm.account+".CONNZ", []byte(ask), &found)
	n := map[string]int{}
	for _, c := range found.Connections {
		n[c.Name]++
	}
	return n, err
}

// asSystem sends a request to the server itself.
func (k *Keys) asSystem(ctx context.Context, addr, subject string, body []byte, data any) error {
	user, err := ownUser(k.realm.system)
	if err != nil {
		return err
	}
	client, err := newClientCert(k.authority, "server")
	if err != nil {
		return err
	}
	// The server is on this machine, and what it gets is signed and no secret.
	conf := &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{{Certificate: [][]byte{client.cert.Raw}, PrivateKey: client.key}}}
	nc, err := nats.Connect("tls://"+addr, nats.UserCredentialBytes(user), nats.Secure(conf), nats.Timeout(5*time.Second), nats.Name("vidfilter serve credentials"))
	if err != nil {
		return fmt.Errorf("queue: the server at %s: %w", addr, err)
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
