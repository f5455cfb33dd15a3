package queue

import (
	"context"
	"errors"
	"time"
)

// Request is a batch that an agent can do: a process that runs batches where their files are. Every
// batch with a queue of vidfilter serve has one, so that it goes on if its submitter dies.
type Request struct {
	ID   string // of the batch; BatchOf returns it for each of its jobs
	User string // the credential that submitted it; set by the server

	Root     string // of the outputs, absolute
	Document []byte // a job file with absolute names
	Site     string `json:",omitempty"` // identifies Root on its disk; "" if unknown to the submitter
	Files    []File `json:",omitempty"` // some of the sources, as the submitter has seen them

	// options of the batch that a job file cannot have
	Overwrite   bool   `json:",omitempty"`
	RetryFailed bool   `json:",omitempty"`
	Threads     int    `json:",omitempty"` // of each part's encoder, as given on the command line
	Shared      string `json:",omitempty"`
	Webhook     string `json:",omitempty"`
}

// MostRequest limits the JSON of a Request, in bytes.
const MostRequest = 64 << 10

// File is a file as somebody has seen it.
type File struct {
	Name  string // absolute
	Size  int64
	MTime time.Time
}

// RequestStatus is the state of a request.
type RequestStatus struct {
	Request
	State     State  // Queued until an agent or its submitter runs it, then Running
	Waits     string `json:",omitempty"` // why no process runs it
	By        string `json:",omitempty"` // the process that runs it, with its credential
	Worker    string `json:",omitempty"` // the name of that process as a worker
	Detached  bool   `json:",omitempty"` // not run by its submitter at first
	Paused    bool   `json:",omitempty"` // no agent takes it
	Submitted time.Time
	Ended     time.Time
	Ending    Ending // once State has ended
}

// Ending is how a batch has ended.
type Ending struct {
	State  State  // Done, Failed or Cancelled
	Exit   int    // exit code of vidfilter batch
	Reason string `json:",omitempty"` // its error
	Hint   string `json:",omitempty"` // advice on the reason
	Table  string `json:",omitempty"` // its files, for people
}

// Changes of a request by its owner.
const (
	CancelRequest = "cancel"
	PauseRequest  = "pause"
	ResumeRequest = "resume"
	RetryRequest  = "retry"  // run one that has ended again, with the files that failed
	RemoveRequest = "remove" // cancel and forget it
)

// Requests are the batches of a queue. The methods may be called from any goroutine, and fail with
// ErrRefused if the credential does not allow them.
type Requests interface {
	// AddRequest adds a batch. With a hold, an ID of the caller's, the caller runs it, and must
	// call Hold. With "" an agent does, and Waits of the result is why it waits. A
	// batch that another process runs, or another one for the same folder, is an ErrHeld. More
	// than MostRequest, or too many requests, are an ErrQuota.
	AddRequest(ctx context.Context, r Request, worker, hold string) (RequestStatus, error)

	// Requests returns the batches in the order of their submission, also those that have ended
	// lately, without Document, Files and Ending.Table. Those of others have no names of files.
	Requests(ctx context.Context) ([]RequestStatus, error)

	// Request returns a batch of the caller's whole, and of others as Requests does.
	Request(ctx context.Context, id string) (RequestStatus, error)

	// ChangeRequest changes a batch of the caller's; operators change any. It does not change the
	// batch's jobs. Without such a batch it is ErrNoRequest.
	ChangeRequest(ctx context.Context, id, change string) error

	// Hold keeps a request that the caller runs. It is ErrCancelled, ErrHeld or ErrNoRequest if
	// the caller must stop.
	Hold(ctx context.Context, id, hold string) error

	// EndRequest ends a request that the caller runs.
	EndRequest(ctx context.Context, id, hold string, e Ending) error

	// TakeRequest gives the caller, an agent that reaches a folder, a request to run, or
	// ErrNoRequest if none waits for it. With "" as the hold it only informs the queue that the
	// agent is there. The batch's own connection acts for its owner; see jetstream.Acting.
	TakeRequest(ctx context.Context, worker, folder, hold string) (RequestStatus, error)

	// ReturnRequest lets others run a request that the caller holds. If why is not "", the caller
	// cannot, and does not get it again for a while.
	ReturnRequest(ctx context.Context, id, hold, why string) error
}

var (
	// ErrNoRequest is the error of a batch that the queue does not have.
	ErrNoRequest = errors.New("there is no batch with this ID")

	// ErrHeld is the error of a batch that another process runs.
	ErrHeld = errors.New("queue: another process runs this batch")
)
