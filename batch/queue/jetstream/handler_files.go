package jetstream

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/batch/queue"
	"vidfilter/batch/queue/jetstream/pki"
)

// Quota limits what clients may store. 0 is no limit.
type Quota struct {
	Store  int64 // of the whole queue
	Job    int64 // of the files of a job at a time
	Object int64 // of a file
}

// quota counts the bytes that clients store.
type quota struct {
	Quota
	mu      sync.Mutex
	uploads map[string]*upload // by NUID
}

// upload is a file that is still in transit.
type upload struct {
	job   string
	user  string // whose job it is
	begun time.Time
	whole bool   // its first piece was counted
	last  uint64 // piece that the last one follows
	bytes int64
}

// upload returns a file in transit. It forgets stalled ones.
func (q *quota) upload(id, job, user string) *upload {
	if u := q.uploads[id]; u != nil {
		return u
	}
	maps.DeleteFunc(q.uploads, func(_ string, u *upload) bool { return time.Since(u.begun) > idleUpload })
	u := &upload{job: job, user: user, begun: time.Now()}
	q.uploads[id] = u
	return u
}

// coming sums up the bytes and the number of files in transit.
func (q *quota) coming(of func(*upload) bool) (bytes int64, files int) {
	for _, u := range q.uploads {
		if of(u) {
			bytes += u.bytes
			files++
		}
	}
	return bytes, files
}

// idleUpload is the time after which the pieces of an incomplete file are removed.
const idleUpload = time.Hour

// mayTouch checks that a client may read or write a file. A submitter may use the files of its
// jobs, the holder of a task's ticket the packets JOB/in/NUMBER and the results JOB/out/NUMBER.*.
func (h *requestHandler) mayTouch(ctx context.Context, by caller, q *fileRequest, write bool) error {
	job, rest, ok := strings.Cut(q.Name, "/")
	if !ok || !isName(job) || len(q.Name) > 512 {
		return fmt.Errorf("%w: no file can have the name %q", queue.ErrRefused, q.Name)
	}
	if q.Ticket != nil {
		a, err := h.atWork(ctx, by, &q.request)
		if err != nil {
			return err
		}
		_, number, _ := strings.Cut(a.c.task, "-")
		ours := number != "" && a.c.job == job && (strings.HasPrefix(rest, "out/"+number+".") || !write && rest == "in/"+number)
		if ours {
			return nil
		}
	}
	if by.is(pki.Worker) {
		return fmt.Errorf("%w: the file %q is of none of %q's tasks", queue.ErrRefused, q.Name, by.name)
	}
	_, err := h.own(ctx, by, job)
	return err
}

var nuidName = regexp.MustCompile(`^[a-z0-9]{16}$`)

// nuid names the pieces of a client's file. No other client can use that name.
func nuid(by caller, id string) (string, error) {
	if !nuidName.MatchString(id) {
		return "", fmt.Errorf("%w: pieces %q", errMalformed, id)
	}
	return by.name + "-" + id, nil
}

func (h *requestHandler) pieceIn(ctx context.Context, by caller, q *pieceRequest) (answer, error) {
	if err := h.mayTouch(ctx, by, &q.fileRequest, true); err != nil {
		return answer{}, err
	}
	id, err := nuid(by, q.NUID)
	if err != nil {
		return answer{}, err
	}
	if err := h.room(ctx, q.Name, id, q.Last, int64(len(q.data))); err != nil {
		return answer{}, err
	}
	info := &jetstream.ObjectInfo{ObjectMeta: jetstream.ObjectMeta{Name: q.Name}, NUID: id}
	seq, err := blobs{h.e}.putPiece(ctx, info, q.data, q.Last)
	return answer{Seq: seq}, err
}

// room counts a piece, or returns why there is no room for it. Packets may fill only half of the
// store: results need the rest, or no job would end. A credential may use three times the free
// space, so that it cannot take all from the others.
func (h *requestHandler) room(ctx context.Context, name, id string, last uint64, n int64) error {
	job, rest, _ := strings.Cut(name, "/")
	whole, user := h.cache.job(job)
	has := h.cache.usage(user)
	h.quota.mu.Lock()
	defer h.quota.mu.Unlock()
	u, q := h.quota.upload(id, job, user), &h.quota
	if u.last != last || u.bytes == 0 { // else its answer was lost
		u.bytes += n
	}
	u.last, u.whole = last, u.whole || last == 0
	ofJob, _ := q.coming(func(o *upload) bool { return o.job == job })
	ofUser, files := q.coming(func(o *upload) bool { return o.user == user })
	var err error
	switch {
	case q.Object > 0 && u.bytes > q.Object:
		err = fmt.Errorf("%w: a file of more than %d bytes (serve --max-object)", queue.ErrQuota, q.Object)
	case q.Job > 0 && whole+ofJob > q.Job:
		err = fmt.Errorf("%w: the files of a job may have %d bytes in the store (serve --max-job)", queue.ErrQuota, q.Job)
	case has.files+files > mostFiles:
		err = fmt.Errorf("%w: %q has %d files in it", queue.ErrStoreFull, user, mostFiles)
	case last == 0 && q.Store > 0:
		err = h.isFull(ctx, user, has.bytes+ofUser, strings.HasPrefix(rest, "in/"))
	}
	if err != nil {
		delete(q.uploads, id)
	}
	return err
}

// isFull returns an error if the store has no room for another file of a credential, which has
// some bytes.
func (h *requestHandler) isFull(ctx context.Context, user string, has int64, packets bool) error {
	now, err := h.e.files.Info(ctx)
	if err != nil {
		return err
	}
	used := int64(now.State.Bytes)
	most := h.quota.Store / 10 * 9
	if packets {
		most /= 2
	}
	switch {
	case used > most:
		return fmt.Errorf("%w: %d bytes of %d are used", queue.ErrStoreFull, used, h.quota.Store)
	case has > 3*(most-used):
		return fmt.Errorf("%w for %q: its jobs have %d bytes, and %d are free for all", queue.ErrStoreFull, user, has, most-used)
	}
	return nil
}

func (h *requestHandler) fileIn(ctx context.Context, by caller, q *fileInRequest) (answer, error) {
	if err := h.mayTouch(ctx, by, &q.fileRequest, true); err != nil {
		return answer{}, err
	}
	id, err := nuid(by, q.NUID)
	if err != nil {
		return answer{}, err
	}
	job, _, _ := strings.Cut(q.Name, "/")
	r, _, err := h.e.get(ctx, job)
	if err != nil {
		return answer{}, err
	}
	if !r.live() {
		q.Info = nil
		err = queue.ErrCancelled
	}
	if q.Info == nil {
		h.quota.forget(id)
		blobs{h.e}.purge(id)
		return answer{}, err
	}
	if q.Info.Chunks == 0 { // no piece was counted
		if err := h.room(ctx, q.Name, id, 0, 0); err != nil {
			return answer{}, err
		}
	}
	if n, ok := h.quota.counted(id); ok && uint64(n) != q.Info.Size {
		return answer{}, fmt.Errorf("%w: %d bytes of %q came, not %d", errMalformed, n, q.Name, q.Info.Size)
	}
	info := jetstream.ObjectInfo{
		ObjectMeta: jetstream.ObjectMeta{Name: q.Name, Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunkBytes}},
		Bucket:     h.e.names.blobs(), NUID: id, Size: q.Info.Size, Chunks: q.Info.Chunks, Digest: q.Info.Digest,
	}
	err = blobs{h.e}.putMeta(ctx, info)
	if err == nil {
		h.quota.forget(id)
	}
	return answer{}, err
}

// counted returns the bytes of a file that have come; ok is false after a restart.
func (q *quota) counted(id string) (n int64, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	u := q.uploads[id]
	if u == nil {
		return 0, false
	}
	return u.bytes, u.whole
}

func (q *quota) forget(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.uploads, id)
}

func (h *requestHandler) file(ctx context.Context, by caller, q *fileRequest) (answer, error) {
	if err := h.mayTouch(ctx, by, q, false); err != nil {
		return answer{}, err
	}
	info, err := h.info(ctx, q.Name)
	return answer{Info: info}, err
}

func (h *requestHandler) info(ctx context.Context, name string) (*jetstream.ObjectInfo, error) {
	info, err := h.e.objects.GetInfo(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, fmt.Errorf("%w: %s", queue.ErrNoBlob, name)
	}
	return info, err
}

func (h *requestHandler) pieceOut(ctx context.Context, by caller, q *pieceRequest) (answer, error) {
	if err := h.mayTouch(ctx, by, &q.fileRequest, false); err != nil {
		return answer{}, err
	}
	info, err := h.info(ctx, q.Name)
	if err != nil {
		return answer{}, err
	}
	if info.NUID != q.NUID {
		return answer{}, errReplaced
	}
	m, err := h.e.files.GetMsg(ctx, q.Last+1, jetstream.WithGetMsgSubject(blobs{h.e}.pieces(info.NUID)))
	if err != nil {
		return answer{}, err
	}
	return answer{Seq: m.Sequence, data: m.Data}, nil
}

func (h *requestHandler) remove(ctx context.Context, by caller, q *fileRequest) (answer, error) {
	if err := h.mayTouch(ctx, by, q, true); err != nil {
		return answer{}, err
	}
	return answer{}, blobs{h.e}.Delete(ctx, q.Name)
}

func (h *requestHandler) files(ctx context.Context, by caller, q *fileRequest) (answer, error) {
	job, _, _ := strings.Cut(q.Name, "/")
	if _, err := h.own(ctx, by, job); err != nil {
		return answer{}, err
	}
	return answer{Names: h.cache.files(job)}, nil
}
