package batch

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"time"

	"vidfilter/internal/netfile"
)

// Fingerprint detects changes of a file without reading all of it.
type Fingerprint struct {
	Size  int64     `json:"size"`  // bytes
	MTime time.Time `json:"mtime"` // UTC, as precise as the file system
	Hash  string    `json:"hash"`  // SHA-256 of the size and of the first, middle and last 64 KiB
}

const chunk = 64 << 10

// ErrChanging is wrapped by the error of FingerprintOf if the file changed while it was read.
var ErrChanging = errorf("try again when it has stopped changing", "the file is being written")

// FingerprintOf reads at most 192 KiB of a file. It asks the server of an address.
func FingerprintOf(path string) (Fingerprint, error) {
	if netfile.Is(path) {
		return fingerprintAt(path)
	}
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
	_ = binary.Write(h, binary.BigEndian, size) // writing to a hash never fails
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

// Equal reports whether the files are equal, including their times.
func (f Fingerprint) Equal(g Fingerprint) bool { return f.Same(g) && f.MTime.Equal(g.MTime) }

// Same reports whether the files have the same content. It is for outputs, which may be copied or
// touched.
func (f Fingerprint) Same(g Fingerprint) bool { return f.Size == g.Size && f.Hash == g.Hash }

// Digest covers everything that decides about the result: the source's content and time, the
// options, the output's name (which may choose the container) and the program's version. The
// location of the source does not matter.
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

// ID returns a stable name for an item, unique in its root: letters, digits and dashes, at most
// 64.
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
