package netfile

import (
	"context"
	"errors"
	"io/fs"

	"github.com/minio/minio-go/v7"
)

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
