package target

import (
	"context"
	"encoding/json"
	"fmt"

	"vidfilter/internal/contract"
	"vidfilter/internal/sandbox"
)

// A process in a sandbox writes the temporary files of its targets, and its parent's Broker acts
// where rights on their folders are needed. The process names its targets before it enters the
// sandbox. Later ones are refused, except in the working folder of a Folder: all that it can then
// do is to move its file to the target, or to leave it.

// request is a process's to its Broker.
type request struct {
	Target int    `json:"target,omitempty"` // as prepare numbered it, from 1
	Word   string `json:"word,omitempty"`   // of keep, create and remove
	Ending string `json:"ending,omitempty"` // of create and remove
	N      int    `json:"n,omitempty"`      // likewise

	// of prepare; also the name of folder and publish
	Name      contract.Name   `json:"name,omitempty"`
	Inputs    []contract.Name `json:"inputs,omitempty"`
	Overwrite string          `json:"overwrite,omitempty"` // replace, refuse, ask
}

// preparation is the answer to prepare.
type preparation struct {
	Target int           `json:"target"`
	Path   contract.Name `json:"path"`
	Temp   contract.Name `json:"temp,omitempty"`
	Direct bool          `json:"direct,omitempty"`
}

// as converts a list of names.
func as[To, From ~string](names []From) (all []To) {
	for _, n := range names {
		all = append(all, To(n))
	}
	return all
}

// Broker keeps the targets of a process in a sandbox. It is a sandbox.Service.
type Broker struct {
	Ask     Policy          // for a process that may ask; nil refuses
	Uploads context.Context // its end ends uploads to a store; may be nil

	targets []*File
	folder  *Folder // or nil
	sealed  bool
}

var faultKinds = map[string]error{"output": ErrOutput, "exists": errExists, "unnamed": ErrUnnamed}

// Kinds returns the errors that File's methods wrap.
func (b *Broker) Kinds() map[string]error { return faultKinds }

// Do does a request.
func (b *Broker) Do(op string, body json.RawMessage) (any, error) {
	var r request
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, err
	}
	switch op {
	case sandbox.Sealed:
		b.sealed = true
		return nil, nil
	case "prepare":
		return b.prepare(r)
	case "folder":
		return b.openFolder(r)
	case "publish":
		return b.publish(r)
	}
	if r.Target < 1 || r.Target > len(b.targets) {
		return nil, fmt.Errorf("%s of target %d, of %d", op, r.Target, len(b.targets))
	}
	t := b.targets[r.Target-1]
	switch op {
	case "open":
		return nil, t.Open()
	case "commit":
		err := t.Commit()
		return contract.Name(t.Final()), err
	case "keep":
		if r.Word != "unverified" && r.Word != "interrupted" && r.Word != "finished" {
			return nil, fmt.Errorf("keep as %q", r.Word)
		}
		name, err := t.Keep(r.Word)
		return contract.Name(name), err
	case "remove", "create":
		if r.Word != "recording" || r.Ending != ".mp4" || r.N < 1 || r.N > MaxBeside {
			return nil, fmt.Errorf("%s %s%s, number %d", op, r.Word, r.Ending, r.N)
		}
		if op == "create" {
			return t.CreateBeside(r.Word, r.Ending, r.N)
		}
		return nil, t.RemoveBeside(r.Word, r.Ending, r.N)
	case "discard":
		return nil, t.Discard()
	}
	return nil, fmt.Errorf("unknown operation %q", op)
}

func (b *Broker) prepare(r request) (any, error) {
	if b.sealed && !b.mayName(string(r.Name)) {
		return nil, fmt.Errorf("a new target %q from inside the sandbox", r.Name)
	}
	policy := map[string]Policy{"replace": Replace, "ask": b.Ask}[r.Overwrite]
	if policy == nil || b.sealed {
		policy = Refuse
	}
	t, err := prepareFiles(b.Uploads, string(r.Name), policy, as[string](r.Inputs))
	if err != nil {
		return nil, err
	}
	b.targets = append(b.targets, t)
	return preparation{Target: len(b.targets), Path: contract.Name(t.path), Temp: contract.Name(t.temp), Direct: t.direct}, nil
}

// Close removes files that the process has neither committed nor discarded.
func (b *Broker) Close() {
	for _, t := range b.targets {
		_ = t.Discard()
	}
	if b.folder != nil {
		b.folder.Close()
	}
}

// remote is a target's place, kept by the parent.
type remote struct {
	box    *sandbox.Box
	target int
}

func (r *remote) ask(op, word string, out any) error {
	return r.do(op, request{Word: word}, out)
}

func (r *remote) do(op string, about request, out any) error {
	about.Target = r.target
	return sandbox.Restore(r.box.Ask(op, about, out), faultKinds)
}

func prepareRemote(box *sandbox.Box, name string, policy Policy, inputs []string) (*File, error) {
	r := request{Name: contract.Name(name), Inputs: as[contract.Name](inputs), Overwrite: "refuse"}
	switch policy(name) {
	case nil:
		r.Overwrite = "replace"
	case errAsk:
		r.Overwrite = "ask"
	}
	var p preparation
	if err := sandbox.Restore(box.Ask("prepare", r, &p), faultKinds); err != nil {
		return nil, err
	}
	return &File{name: name, path: string(p.Path), temp: string(p.Temp), direct: p.Direct, distant: &remote{box, p.Target}}, nil
}
