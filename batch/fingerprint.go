package batch

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"time"
)

// Fingerprint tells whether a file is still what it was, without reading all of it.
type Fingerprint struct {
	Size  int64     `json:"size"`  // bytes
	MTime time.Time `json:"mtime"` // UTC, as fine as the file system has it
	Hash  string    `json:"hash"`  // SHA-256 of the size and of the first, middle and last 64 KiB
}

const chunk = 64 << 10

// ErrChanging is what Fingerprint's error wraps when the file changed while it was read.
var ErrChanging = errorf("try again when it has come to rest", "the file is being written")

// FingerprintOf reads at most 192 KiB of a file.
func FingerprintOf(path string) (Fingerprint, error) {
	f, err := os.Open(path)
	if err != nil {
		return Fingerprint{}, err
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return Fingerprint{}, err
	}
	if !before.Mode().IsRegular() {
		return Fingerprint{}, errorf("", "%q is not a plain file", path)
	}
	hash, err := digestOf(f, before.Size())
	if err != nil {
		return Fingerprint{}, fmt.Errorf("read %q: %w", path, bare(err))
	}
	after, err := f.Stat()
	if err == nil && (after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime())) {
		err = fmt.Errorf("%q: %w", path, ErrChanging)
	}
	return Fingerprint{before.Size(), before.ModTime().UTC(), hash}, err
}

func digestOf(r io.ReaderAt, size int64) (string, error) {
	h := sha256.New()
	_ = binary.Write(h, binary.BigEndian, size) // a hash takes everything
	parts := []int64{0, (size - chunk) / 2, size - chunk}
	length := int64(chunk)
	if size <= 3*chunk {
		parts, length = []int64{0}, size
	}
	for _, start := range parts {
		n, err := io.Copy(h, io.NewSectionReader(r, start, length))
		if err == nil && n < length {
			err = ErrChanging
		}
		if err != nil {
			return "", err
		}
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

// Equal says that nothing about the files differs, their times included.
func (f Fingerprint) Equal(g Fingerprint) bool { return f.Same(g) && f.MTime.Equal(g.MTime) }

// Same says that the files have the same content. It is for outputs: to copy or to touch one does it no harm.
func (f Fingerprint) Same(g Fingerprint) bool { return f.Size == g.Size && f.Hash == g.Hash }

// Digest is of all that decides about the result: the source's content and time, the options, the output's name (which may choose the
// container) and the program's version. Where the source lies does not count.
func Digest(item Item, source Fingerprint, version string) string {
	h := sha256.New()
	put := func(s string) { fmt.Fprintf(h, "%d:%s", len(s), s) }
	for _, s := range []string{"1", item.Output, version, source.Hash, source.MTime.UTC().Format(time.RFC3339Nano)} {
		put(s)
	}
	for _, a := range item.Deciding {
		put(a)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// ID names an item for good among those of its root: letters, digits and dashes, at most 64.
func (i Item) ID() string {
	sum := sha256.Sum256([]byte(i.Output))
	var b []byte
	for _, c := range []byte(i.Output) {
		switch {
		case len(b) == 40:
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9':
			b = append(b, c)
		case len(b) > 0 && b[len(b)-1] != '-':
			b = append(b, '-')
		}
	}
	return string(b) + "-" + hex.EncodeToString(sum[:8])
}
