package jetstream

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/batch/queue"
)

type blobs struct{ e *Engine }

// chunkBytes is the size of a piece. Each one is synced and acknowledged before the next one is
// sent.
const chunkBytes = 1 << 20

// Blobs implements queue.Engine. Put and Get survive a lost connection until their context ends.
// Get verifies the checksum that Put computed.
func (e *Engine) Blobs() queue.Blobs { return blobs{e} }

// Put stores a file in the format of NATS object stores. The Put of nats.go has up to 4000 pieces
// in flight, which needs too much memory, and announces the file before all have arrived.
func (b blobs) Put(ctx context.Context, name string, r io.Reader) error {
	if name == "" {
		return errors.New("queue: storing a file: no name")
	}
	return wrapf(b.put(ctx, name, r), "queue: storing %s", name)
}

func (b blobs) put(ctx context.Context, name string, r io.Reader) (err error) {
	info := jetstream.ObjectInfo{
		ObjectMeta: jetstream.ObjectMeta{Name: name, Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunkBytes}},
		Bucket:     b.e.names.blobs(),
		NUID:       newID(),
	}
	defer func() {
		if err != nil {
			b.purge(info.NUID)
		}
	}()
	last := uint64(0)
	err = readPieces(r, min(chunkBytes, b.e.maxBytes), &info, func(piece []byte) (err error) {
		last, err = b.putPiece(ctx, &info, piece, last)
		return err
	})
	if err != nil {
		return err
	}
	return b.putMeta(ctx, info)
}

// readPieces passes a file to put in pieces of at most size bytes. It sets the size, the number of
// pieces and the checksum in info.
func readPieces(r io.Reader, size int, info *jetstream.ObjectInfo, put func(piece []byte) error) error {
	sum := sha256.New()
	buf := make([]byte, size)
	for {
		n, err := io.ReadFull(r, buf)
		if err == io.EOF {
			info.Digest = jetstream.GetObjectDigestValue(sum)
			return nil
		}
		if err != nil && err != io.ErrUnexpectedEOF {
			return err
		}
		sum.Write(buf[:n])
		if err := put(buf[:n]); err != nil {
			return err
		}
		info.Size += uint64(n)
		info.Chunks++
	}
}

// putMeta makes a file of its pieces, in the place of any of the same name.
func (b blobs) putMeta(ctx context.Context, info jetstream.ObjectInfo) error {
	name := info.Name
	old, err := b.e.objects.GetInfo(ctx, name)
	if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return err
	}
	meta, err := json.Marshal(info)
	if err != nil {
		return err
	}
	subject := b.metas() + base64.URLEncoding.EncodeToString([]byte(name))
	err = b.e.persist(ctx, "storing "+name, func(ctx context.Context) error {
		m := nats.NewMsg(subject)
		m.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
		m.Data = meta
		_, err := b.e.js.PublishMsg(ctx, m)
		return err
	})
	if err == nil && old != nil && old.NUID != info.NUID {
		b.purge(old.NUID)
	}
	if err == nil {
		b.changed(name, int64(info.Size))
	}
	return err
}

// putPiece stores a piece after the one with sequence number last, exactly once even if the
// answer is lost.
func (b blobs) putPiece(ctx context.Context, info *jetstream.ObjectInfo, piece []byte, last uint64) (seq uint64, err error) {
	subject := b.pieces(info.NUID)
	err = b.e.persist(ctx, "storing "+info.Name, func(ctx context.Context) error {
		ack, err := b.e.js.PublishMsg(ctx, &nats.Msg{Subject: subject, Data: piece}, jetstream.WithExpectLastSequencePerSubject(last))
		if err == nil {
			seq = ack.Sequence
			return nil
		}
		if !conflict(err) {
			return err
		}
		m, err := b.e.files.GetLastMsgForSubject(ctx, subject) // no one else writes there
		if err != nil {
			return err
		}
		if seq = m.Sequence; seq <= last {
			return errors.New("a replica is behind")
		}
		return nil
	})
	return seq, err
}

// metas begins the subjects of files.
func (b blobs) metas() string { return "$O." + b.e.names.blobs() + ".M." }

func (b blobs) pieces(nuid string) string { return "$O." + b.e.names.blobs() + ".C." + nuid }

// purge removes the pieces of an unwanted file. Leftovers go when the queue is opened again.
func (b blobs) purge(nuid string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = b.e.files.Purge(ctx, jetstream.WithPurgeSubject(b.pieces(nuid)))
}

func (b blobs) Get(ctx context.Context, name string, w io.Writer) error {
	g := download{b: b, name: name, w: w}
	err := g.try(ctx)
	for tries := 0; err != nil && !g.final(err) && ctx.Err() == nil && tries < 5; tries++ {
		if err := b.e.connected(ctx); err != nil {
			break
		}
		before := g.written
		if err = g.try(ctx); g.written > before {
			tries = 0
		}
	}
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return fmt.Errorf("%w: %s", queue.ErrNoBlob, name)
	}
	return wrapf(err, "queue: fetching %s", name)
}

// download is a file in transit to a writer.
type download struct {
	b       blobs
	name    string
	w       io.Writer
	nuid    string
	written int64
	failed  error // error of the writer
}

var errReplaced = errors.New("it was replaced meanwhile")

// final reports whether another try would give the same error.
func (g *download) final(err error) bool {
	return g.failed != nil || errors.Is(err, errReplaced) || errors.Is(err, jetstream.ErrObjectNotFound) ||
		errors.Is(err, jetstream.ErrDigestMismatch)
}

// idleTimeout is how long no data may arrive before it is requested again.
const idleTimeout = 20 * time.Second

// try fetches the rest of the file.
func (g *download) try(ctx context.Context) error {
	// Without a deadline nats.go sets one of seconds for the whole file.
	ctx, cancel := context.WithTimeout(ctx, 7*24*time.Hour)
	defer cancel()
	watchdog := time.AfterFunc(idleTimeout, cancel)
	defer watchdog.Stop()
	o, err := g.b.e.objects.Get(ctx, g.name)
	if err != nil {
		return err
	}
	defer o.Close()
	info, err := o.Info()
	if err != nil {
		return err
	}
	if g.nuid != "" && g.nuid != info.NUID {
		return errReplaced
	}
	g.nuid = info.NUID
	skip := g.written
	_, err = io.Copy(writerFunc(func(p []byte) (int, error) {
		watchdog.Reset(idleTimeout)
		had := min(skip, int64(len(p)))
		skip -= had
		n, err := g.w.Write(p[had:])
		g.written += int64(n)
		g.failed = err
		return int(had) + n, err
	}), o)
	return err
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func (b blobs) Delete(ctx context.Context, name string) error {
	err := b.e.objects.Delete(ctx, name)
	if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return fmt.Errorf("queue: deleting %s: %w", name, err)
	}
	b.changed(name, -1)
	return nil
}

func (b blobs) changed(name string, size int64) {
	if b.e.fileChanged != nil {
		b.e.fileChanged(name, size)
	}
}

func (b blobs) List(ctx context.Context, prefix string) ([]string, error) {
	var names []string
	err := b.each(ctx, func(o jetstream.ObjectInfo) {
		if strings.HasPrefix(o.Name, prefix) {
			names = append(names, o.Name)
		}
	})
	slices.Sort(names)
	return names, err
}

func (b blobs) Sizes(ctx context.Context) (map[string]int64, error) {
	sizes := map[string]int64{}
	err := b.each(ctx, func(o jetstream.ObjectInfo) {
		job, _, _ := strings.Cut(o.Name, "/")
		sizes[job] += int64(o.Size)
	})
	return sizes, err
}

func (b blobs) each(ctx context.Context, f func(jetstream.ObjectInfo)) error {
	all := map[string]jetstream.ObjectInfo{}
	err := latest(ctx, b.e.files, b.metas()+">", func(m *jetstream.RawStreamMsg) {
		var o jetstream.ObjectInfo
		if json.Unmarshal(m.Data, &o) == nil {
			all[o.Name] = o
		}
	})
	for _, o := range all {
		if !o.Deleted && err == nil {
			f(o)
		}
	}
	return wrapf(err, "queue: listing files")
}

// files is the store at a client.
type files struct{ c *client }

// Blobs implements queue.Engine. A worker reaches the files of a task with the context of its
// handler only.
func (c *client) Blobs() queue.Blobs { return files{c} }

func (f files) Put(ctx context.Context, name string, r io.Reader) error {
	return wrapf(f.put(ctx, name, r), "queue: storing %s", name)
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
	if errors.Is(err, queue.ErrNoBlob) {
		return err
	}
	return wrapf(err, "queue: fetching %s", name)
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
