package decode_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vidfilter/decode"
	"vidfilter/internal/e2e"
)

// A PNG whose colour profile unpacks to more than the limit is refused, at the cost of the limit.
func TestBomb(t *testing.T) {
	var picture, packed bytes.Buffer
	e2e.Must(t, png.Encode(&picture, image.NewRGBA(image.Rect(0, 0, 64, 48))))
	w, err := zlib.NewWriterLevel(&packed, zlib.BestSpeed)
	e2e.Must(t, err)
	_, err = w.Write(make([]byte, 17<<20))
	e2e.Must(t, err)
	e2e.Must(t, w.Close())
	chunk := append([]byte("iCCPx\x00\x00"), packed.Bytes()...)
	const header = 8 + 25 // signature and IHDR
	bomb := binary.BigEndian.AppendUint32(bytes.Clone(picture.Bytes()[:header]), uint32(len(chunk)-4))
	bomb = binary.BigEndian.AppendUint32(append(bomb, chunk...), crc32.ChecksumIEEE(chunk))
	bomb = append(bomb, picture.Bytes()[header:]...)
	path := filepath.Join(t.TempDir(), "bomb.png")
	e2e.Must(t, os.WriteFile(path, bomb, 0o600))
	in, err := decode.Open(t.Context(), path, newPool(t), decode.Options{})
	if err == nil {
		defer in.Close()
		_, err = in.Next(t.Context())
	}
	if !errors.Is(err, decode.ErrUnreadable) || !strings.Contains(err.Error(), "the colour profile of a PNG picture unpacks to more than 16 MB") {
		t.Error(err)
	}
}
