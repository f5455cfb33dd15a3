package netfile

import (
	"context"
	"crypto/md5"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// stored is a file in a store.
type stored struct {
	*minio.Core
	bucket, key string
}

func newStored(op, address string) (*stored, error) {
	bucket, key := split(address)
	if bucket == "" || key == "" {
		return nil, &Error{op: op, address: address, err: errors.New("it names no file in a bucket"), hint: "as in s3://bucket/folder/file.mp4"}
	}
	core, err := client()
	if err != nil {
		return nil, err
	}
	return &stored{core, bucket, key}, nil
}

// endpoint returns the address of the stores.
func endpoint() string {
	for _, name := range []string{"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"} {
		if at := os.Getenv(name); at != "" {
			return Shown(at)
		}
	}
	return "https://s3.amazonaws.com"
}

// storeTries are the client's tries of a request that fails.
const storeTries = 4

var client = sync.OnceValues(func() (*minio.Core, error) {
	at, err := url.Parse(endpoint())
	if err != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != "http" {
		return nil, &Error{op: opRead, address: endpoint(), err: errors.New("AWS_ENDPOINT_URL is no address of a server"), hint: "as in https://s3.example.org"}
	}
	region := os.Getenv("AWS_REGION")
	if region == "" {
		region = os.Getenv("AWS_DEFAULT_REGION")
	}
	if region == "" && !strings.HasSuffix(at.Hostname(), ".amazonaws.com") {
		region = "us-east-1" // as other servers have it
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout, transport.DisableCompression = answerTimeout, true
	return minio.NewCore(at.Host, &minio.Options{
		Creds: credentials.NewEnvAWS(), Secure: at.Scheme == "https", Region: region, Transport: transport, MaxRetries: storeTries,
	})
})

const hashName = "Vidfilter-Hash"

func (s *stored) open(ctx context.Context, from int64, known Info) (io.ReadCloser, Info, int64, error) {
	var o minio.GetObjectOptions
	if from > 0 {
		if err := errors.Join(o.SetRange(from, 0), o.SetMatchETag(known.Tag)); err != nil {
			return nil, Info{}, 0, err
		}
	}
	body, about, head, err := s.GetObject(ctx, s.bucket, s.key, o)
	if err != nil {
		return nil, Info{}, 0, err
	}
	now := Info{Size: about.Size, Tag: about.ETag, Hash: about.UserMetadata[hashName]}
	if head.Get("Content-Range") == "" {
		return body, now, 0, nil
	}
	if now.Size, err = total(head, from); err != nil {
		body.Close()
		return nil, Info{}, 0, err
	}
	return body, now, from, nil
}

// Sizes of uploads. A store takes 10,000 parts.
const mostParts = 9000

var smallestPart int64 = 16 << 20 // a variable for tests

// Upload describes how Store writes a file.
type Upload struct {
	Replace bool   // an existing file; else Store fails with fs.ErrExist
	Hash    string // becomes Info.Hash; "" for one of its own
	// no other process writes the file: parts of a killed upload are removed at once, not after a
	// day
	Alone bool
}

// Store writes a local file to a store. The file appears there when it is complete.
func Store(ctx context.Context, name, address string, u Upload) error {
	s, err := newStored(opWrite, address)
	if err != nil {
		return err
	}
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	about, err := file.Stat()
	if err != nil {
		return err
	}
	if u.Hash == "" {
		u.Hash = rand.Text()
	}
	s.sweep(ctx, u.Alone)
	if err = s.free(ctx, address, u); err == nil {
		err = s.upload(ctx, file, about.Size(), u, !u.Replace)
	}
	if minio.ToErrorResponse(err).StatusCode == http.StatusNotImplemented { // it knows no conditions
		err = s.upload(ctx, file, about.Size(), u, false)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	// the answer to a try that succeeded may have been lost
	if there, e := Stat(ctx, address); e == nil && there.Size == about.Size() && there.Hash == u.Hash {
		return nil
	}
	return failure(opWrite, address, err)
}

// free fails if there is a file that must not be replaced. Not all stores know conditions, and some
// ignore them.
func (s *stored) free(ctx context.Context, address string, u Upload) error {
	if u.Replace {
		return nil
	}
	if _, err := Stat(ctx, address); err == nil {
		return minio.ErrorResponse{Code: minio.PreconditionFailed}
	}
	return nil
}

func (s *stored) upload(ctx context.Context, file io.ReaderAt, size int64, u Upload, condition bool) error {
	o := s.options(u.Hash)
	last := minio.PutObjectOptions{}
	if condition {
		last.SetMatchETagExcept("*")
	}
	part := max(smallestPart, (size+mostParts-1)/mostParts)
	if size <= part {
		if condition {
			o.SetMatchETagExcept("*")
		}
		sum, err := md5Of(file, 0, size)
		if err == nil {
			_, err = s.PutObject(ctx, s.bucket, s.key, io.NewSectionReader(file, 0, size), size, sum, "", o)
		}
		return err
	}
	id, err := s.NewMultipartUpload(ctx, s.bucket, s.key, o)
	if err != nil {
		return err
	}
	parts, err := s.parts(ctx, id, file, size, part)
	if err == nil {
		_, err = s.CompleteMultipartUpload(ctx, s.bucket, s.key, id, parts, last)
	}
	if err != nil {
		s.abort(ctx, id)
	}
	return err
}

func (s *stored) options(hash string) minio.PutObjectOptions {
	return minio.PutObjectOptions{
		ContentType: mime.TypeByExtension(path.Ext(s.key)), UserMetadata: map[string]string{hashName: hash}, DisableContentSha256: true,
	}
}

// md5Of returns the checksum that the store compares a part with. The usual signature of the
// content instead is sent between its bytes, which some stores do not understand.
func md5Of(file io.ReaderAt, at, size int64) (string, error) {
	h := md5.New()
	_, err := io.Copy(h, io.NewSectionReader(file, at, size))
	return base64.StdEncoding.EncodeToString(h.Sum(nil)), err
}

func (s *stored) parts(ctx context.Context, id string, file io.ReaderAt, size, length int64) (all []minio.CompletePart, err error) {
	for at := int64(0); at < size; at += length {
		n := min(length, size-at)
		sum, err := md5Of(file, at, n)
		if err != nil {
			return nil, err
		}
		o := minio.PutObjectPartOptions{Md5Base64: sum, DisableContentSha256: true}
		p, err := s.PutObjectPart(ctx, s.bucket, s.key, id, len(all)+1, io.NewSectionReader(file, at, n), n, o)
		if err != nil {
			return nil, err
		}
		all = append(all, minio.CompletePart{PartNumber: p.PartNumber, ETag: p.ETag})
	}
	return all, nil
}

// abort removes the parts of an upload, also when ctx has ended.
func (s *stored) abort(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	_ = s.AbortMultipartUpload(ctx, s.bucket, s.key, id) // the next Store sweeps
}

// sweep removes the parts of uploads of this file that a killed process has left. Stores may deny
// the list.
func (s *stored) sweep(ctx context.Context, all bool) {
	left, err := s.ListMultipartUploads(ctx, s.bucket, s.key, "", "", "", 100)
	if err != nil {
		return
	}
	for _, u := range left.Uploads {
		if u.Key == s.key && (all || time.Since(u.Initiated) > 24*time.Hour) {
			s.abort(ctx, u.UploadID)
		}
	}
}

// List returns the addresses that begin with s3://BUCKET/PREFIX, in the order of the store.
func List(ctx context.Context, prefix string) (addresses []string, err error) {
	bucket, key := split(prefix)
	core, err := client()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for o := range core.Client.ListObjects(ctx, bucket, minio.ListObjectsOptions{Prefix: key, Recursive: true}) {
		if o.Err != nil {
			return nil, failure(opRead, prefix, o.Err)
		}
		addresses = append(addresses, Join(storeScheme+bucket, o.Key))
	}
	return addresses, nil
}

// Exists reports whether there is a file at an address of a store. It fails if these credentials
// cannot write there, so that no work is done in vain. A file that they may not read counts as
// missing: Store never replaces it.
func Exists(ctx context.Context, address string) (bool, error) {
	s, err := newStored(opWrite, address)
	if err != nil {
		return false, err
	}
	id, err := s.NewMultipartUpload(ctx, s.bucket, s.key, minio.PutObjectOptions{})
	if err != nil {
		return false, failure(opWrite, address, err)
	}
	s.abort(ctx, id)
	_, err = Stat(ctx, address)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return false, nil
	case err != nil:
		return false, failure(opWrite, address, err)
	}
	return true, nil
}
