package jetstream

import (
	"errors"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"vidfilter/batch/queue/jetstream/pki"
)

// Only the head of a queue, the process of Serve, reaches its streams. A client publishes only
// requests to the head, under its role and name: NATS refuses the rest. Even one request to a
// stream would be too much, since its answer goes to any subject that the client names, such as
// another's record.

const anyName = "{{name()}}"

func (n names) ask(role pki.Role, name, verb string) string {
	return string(n) + ".ask." + string(role) + "." + name + "." + verb
}

// inbox begins the subjects of answers to a client. The head answers nowhere else.
func inbox(name string) string { return "_INBOX." + name }

// drain is the subject on which the workers of a credential are told to drain.
func (n names) drain(name string) string { return string(n) + ".drain." + name }

// everyone is the name for all workers.
const everyone = pki.All

// drainWithin is how long a server may take to say that nobody listens.
const drainWithin = time.Second

// sendDrain tells the workers of a credential to drain. They do not answer, but the server does if
// there are none.
func (n names) sendDrain(nc *nats.Conn, name string) error {
	_, err := nc.Request(n.drain(name), nil, drainWithin)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		who := "with the credentials of " + strconv.Quote(name)
		if name == everyone {
			who = "at all"
		}
		return errorf("vidfilter serve credentials list, on the machine of the queue, shows who is connected", err, "queue: no worker %s is connected: there is nobody to drain", who)
	case errors.Is(err, nats.ErrTimeout):
		return nil
	}
	return err
}

// grants returns what the roles may do.
func (n names) grants() pki.Grants {
	base := func(role pki.Role, publish ...string) pki.Grant {
		return pki.Grant{
			Publish:   append([]string{n.ask(role, anyName, all)}, publish...),
			Subscribe: []string{inbox(anyName) + ".>", string(n) + ".event.>", n.drain(anyName), n.drain(everyone)},
		}
	}
	ask := n.events(eventAsk)
	return pki.Grants{
		pki.Worker:    base(pki.Worker, n.drain(anyName)),
		pki.Submitter: base(pki.Submitter, ask, n.drain(anyName)),
		pki.Observer:  base(pki.Observer, ask),
		pki.Operator:  base(pki.Operator, ask, n.drain(all)),
		pki.Agent:     base(pki.Agent, ask, n.drain(anyName)),
	}
}
