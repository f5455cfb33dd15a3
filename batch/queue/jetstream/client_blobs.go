package jetstream

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/batch/queue"
)

// files is the store at a client.
type files struct{ c *client }

// Blobs implements queue.Engine. A worker reaches the files of a task with the context of its
// handler only.
func (c *client) Blobs() queue.Blobs { return files{c} }

func (f files) Put(ctx context.Context, name string, r io.Reader) error {
	if err := f.put(ctx, name, r); err != nil {
		return fmt.Errorf("queue: storing %s: %w", name, err)
	}
	return nil
}

func (f files) put(ctx context.Context, name string, r io.Reader) (err error) {
	of := fileRequest{request{Ticket: ticketOf(ctx)}, name}
	q := fileInRequest{of, newID(), &jetstream.ObjectInfo{}}
	defer func() {
		if err != nil && q.Info.Chunks > 0 {
			drop := q
			drop.Info = nil
			late, cancel := context.WithTimeout(context.WithoutCancel(ctx), idleTimeout)
			defer cancel()
			_, _ = f.c.ask(late, "file-in", &drop)
		}
	}()
	piece := pieceRequest{of, q.NUID, 0}
	err = readPieces(r, min(chunkBytes, int(f.c.nc.MaxPayload())/2), q.Info, func(data []byte) error {
		piece.data = data
		a, err := f.c.insist(ctx, "storing "+name, "piece-in", &piece)
		piece.Last = a.Seq
		return err
	})
	if err != nil {
		return err
	}
	_, err = f.c.insist(ctx, "storing "+name, "file-in", &q)
	return err
}

func (f files) Get(ctx context.Context, name string, w io.Writer) error {
	err := f.get(ctx, name, w)
	if err != nil && !errors.Is(err, queue.ErrNoBlob) {
		err = fmt.Errorf("queue: fetching %s: %w", name, err)
	}
	return err
}

func (f files) get(ctx context.Context, name string, w io.Writer) error {
	q := pieceRequest{fileRequest: fileRequest{request{Ticket: ticketOf(ctx)}, name}}
	a, err := f.c.insist(ctx, "fetching "+name, "file", &q.fileRequest)
	if err != nil {
		return err
	}
	if a.Info == nil {
		return errMalformed
	}
	sum := sha256.New()
	q.NUID = a.Info.NUID
	for range a.Info.Chunks {
		piece, err := f.c.insist(ctx, "fetching "+name, "piece-out", &q)
		if err != nil {
			return err
		}
		q.Last = piece.Seq
		sum.Write(piece.data)
		if _, err := w.Write(piece.data); err != nil {
			return err
		}
	}
	if jetstream.GetObjectDigestValue(sum) != a.Info.Digest {
		return jetstream.ErrDigestMismatch
	}
	return nil
}

func (f files) Delete(ctx context.Context, name string) error {
	_, err := f.c.insist(ctx, "removing "+name, "remove", &fileRequest{request{Ticket: ticketOf(ctx)}, name})
	return err
}

func (f files) Sizes(ctx context.Context) (map[string]int64, error) {
	a, err := f.c.insist(ctx, "sizes of files", "sizes", &request{})
	return a.Sizes, err
}

// List lists files of a job, whose name the prefix must begin with.
func (f files) List(ctx context.Context, prefix string) ([]string, error) {
	if !strings.Contains(prefix, "/") {
		return nil, fmt.Errorf("%w: files are listed by job", queue.ErrRefused)
	}
	a, err := f.c.insist(ctx, "listing "+prefix, "files", &fileRequest{Name: prefix})
	var names []string
	for _, n := range a.Names {
		if strings.HasPrefix(n, prefix) {
			names = append(names, n)
		}
	}
	return names, err
}
