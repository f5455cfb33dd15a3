package jetstream

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/batch/queue"
)

// request is the part that all requests of a client to the server share. A verb that needs more has
// a type of its own.
type request struct {
	Protocol int     `json:"protocol"`
	Version  string  `json:"version,omitempty"`
	Ticket   *ticket `json:"ticket,omitempty"`  // of a task
	Attempt  string  `json:"attempt,omitempty"` // at the task
	ID       string  `json:"id,omitempty"`      // of a job or batch
	For      string  `json:"for,omitempty"`     // batch for whose owner the client acts
	Hold     string  `json:"hold,omitempty"`    // on For, or on the batch ID

	data []byte // a piece of a file
}

func (r *request) shared() *request { return r }

// anyRequest is a request of any verb.
type anyRequest interface{ shared() *request }

type (
	fetchRequest struct {
		request
		Sites []string `json:"sites,omitempty"`
		Any   bool     `json:"any,omitempty"`
	}
	takeRequest struct {
		request
		Worker string `json:"worker,omitempty"` // the client's name for it
		Holds  string `json:"holds,omitempty"`
	}
	settleRequest struct {
		request
		Ending *ending `json:"ending,omitempty"`
	}
	progressRequest struct {
		request
		Active *queue.Active `json:"active,omitempty"`
	}
	presenceRequest struct {
		request
		Worker   string              `json:"worker,omitempty"`
		Presence *queue.WorkerStatus `json:"presence,omitempty"` // nil: it has left
	}
	submitRequest struct {
		request
		Job   *queue.Job `json:"job,omitempty"`
		Again bool       `json:"again,omitempty"`
	}
	cancelRequest struct {
		request
		Reason string `json:"reason,omitempty"`
	}
	finishRequest struct {
		request
		Result json.RawMessage `json:"result,omitempty"`
	}
	giveRequest struct {
		request
		Name string `json:"name,omitempty"` // of a credential
	}
	pauseRequest struct {
		request
		On     bool   `json:"on,omitempty"`
		Worker string `json:"worker,omitempty"` // credential; pki.All for all
	}
	batchRequest struct {
		request
		Batch  *queue.Request `json:"batch,omitempty"`
		Worker string         `json:"worker,omitempty"` // the caller's name as one
		Folder string         `json:"folder,omitempty"` // of an agent
		Change string         `json:"change,omitempty"`
		Why    string         `json:"why,omitempty"` // the agent cannot run it
		Ending *queue.Ending  `json:"ending,omitempty"`
	}
	jobsRequest struct {
		request
		Since uint64 `json:"since,omitempty"`
		Most  int    `json:"most,omitempty"` // of those that are done or cancelled; 0 for all
	}
	fileRequest struct {
		request
		Name string `json:"name,omitempty"`
	}
	pieceRequest struct {
		fileRequest
		NUID string `json:"nuid,omitempty"`
		Last uint64 `json:"last,omitempty"` // sequence number of the piece before; 0 for none
	}
	fileInRequest struct {
		fileRequest
		NUID string                `json:"nuid,omitempty"`
		Info *jetstream.ObjectInfo `json:"info,omitempty"` // nil: drop the pieces
	}
)

// answer is the server's answer. Code is "" if the request succeeded.
type answer struct {
	Code  string `json:"code,omitempty"`
	Error string `json:"error,omitempty"`

	Version string        `json:"version,omitempty"`
	Lease   time.Duration `json:"lease,omitempty"`

	Ticket *ticket    `json:"ticket,omitempty"`
	Body   []byte     `json:"body,omitempty"` // of the task's message
	Job    *queue.Job `json:"job,omitempty"`
	Round  int        `json:"round,omitempty"`
	Number int        `json:"number,omitempty"`

	Results map[string]json.RawMessage `json:"results,omitempty"`
	Status  *queue.Status              `json:"status,omitempty"`
	Workers []seenWorker               `json:"workers,omitempty"`
	Records []storedRecord             `json:"records,omitempty"`
	More    bool                       `json:"more,omitempty"`
	Left    int                        `json:"left,omitempty"`  // out, because of Most
	Sizes   map[string]int64           `json:"sizes,omitempty"` // by job
	Log     string                     `json:"log,omitempty"`
	Batches []queue.RequestStatus      `json:"batches,omitempty"`

	Names []string              `json:"names,omitempty"`
	Info  *jetstream.ObjectInfo `json:"info,omitempty"`
	Seq   uint64                `json:"seq,omitempty"`

	data []byte
}

// seenWorker is a worker with the time that its JSON leaves out.
type seenWorker struct {
	queue.WorkerStatus
	At time.Time `json:"at"`
}

// storedRecord is the record of a job as it is stored.
type storedRecord struct {
	Key   string `json:"key"`
	Value []byte `json:"value,omitempty"`
	At    uint64 `json:"at"`
	Gone  bool   `json:"gone,omitempty"`
}

// ticket proves that the server gave a task to a client. It is good for that task alone.
type ticket struct {
	Subject string `json:"subject"`
	Reply   string `json:"reply"` // takes acknowledgements
	MAC     string `json:"mac"`
}

func (t *ticket) sign(key []byte, name string) string {
	m := hmac.New(sha256.New, key)
	for _, s := range []string{name, t.Subject, t.Reply} {
		fmt.Fprintf(m, "%d:%s", len(s), s)
	}
	return hex.EncodeToString(m.Sum(nil))
}

// Errors of the server that a client recognizes, by their codes.
var answerCodes = map[string]error{
	"gone": errGone, "no job": queue.ErrNoJob, "claimed": errClaimed, "finished": errFinished, "malformed": errMalformed,
	"twin": queue.ErrOvertaken, "cancelled": queue.ErrCancelled, "no file": queue.ErrNoBlob, "replaced": errReplaced,
	"refused": queue.ErrRefused, "protocol": errProtocol, "full": queue.ErrStoreFull, "quota": queue.ErrQuota, "too many": errTooMany,
	"no batch": queue.ErrNoRequest, "held": queue.ErrHeld,
}

var errProtocol = errors.New("queue: the versions do not fit together")

func failed(err error) answer {
	for code, of := range answerCodes {
		if errors.Is(err, of) {
			return answer{Code: code, Error: err.Error()}
		}
	}
	return answer{Code: "error", Error: err.Error()}
}

// answerError is an error of the server at a client.
type answerError struct {
	text string
	of   error // may be nil
}

func (e *answerError) Error() string { return e.text }
func (e *answerError) Unwrap() error { return e.of }

func (a answer) err() error {
	if a.Code == "" {
		return nil
	}
	return &answerError{a.Error, answerCodes[a.Code]}
}

// askHeader holds the request or the answer if the message holds a piece of a file.
const askHeader = "Vidfilter"

// pack makes a message of a request or an answer.
func pack(v any, data []byte) (*nats.Msg, error) {
	m := &nats.Msg{}
	b, err := json.Marshal(v)
	if data == nil {
		m.Data = b
		return m, err
	}
	m.Data = data
	m.Header = nats.Header{askHeader: {string(b)}}
	return m, err
}

func unpack(m *nats.Msg, v any) (data []byte, err error) {
	if h := m.Header.Get(askHeader); h != "" {
		return m.Data, json.Unmarshal([]byte(h), v)
	}
	return nil, json.Unmarshal(m.Data, v)
}

// relayed is the message of a task at the server, for a client that has its ticket.
type relayed struct {
	nc *nats.Conn
	t  *ticket
}

func (m relayed) Subject() string { return m.t.Subject }
func (m relayed) Data() []byte    { return nil }
func (m relayed) Ack() error      { return m.say("+ACK") }
func (m relayed) Nak() error      { return m.say("-NAK") }
func (m relayed) Term() error     { return m.say("+TERM") }

func (m relayed) InProgress() error { return m.say("+WPI") }

func (m relayed) NakWithDelay(d time.Duration) error {
	return m.say(fmt.Sprintf(`-NAK {"delay": %d}`, d.Nanoseconds()))
}

// DoubleAck does not wait for the stream, since the client waits for us. If the message comes
// again, it is found finished.
func (m relayed) DoubleAck(context.Context) error { return m.Ack() }

func (m relayed) say(what string) error { return m.nc.Publish(m.t.Reply, []byte(what)) }
