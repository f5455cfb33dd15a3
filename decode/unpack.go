package decode

//#cgo pkg-config: libavformat libavcodec
//#include <libavformat/avformat.h>
import "C"

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"io"
	"unsafe"
)

// mostUnpacked limits the colour profile and the texts of a picture. FFmpeg has no limit, and a
// megabyte may hold a gigabyte, copied several times.
const mostUnpacked = 16 << 20

// checkPicture refuses a packet of a stream, or its header, if there is more beside the samples of
// a picture than FFmpeg should unpack.
func checkPicture(path string, st *C.AVStream, data *C.uint8_t, size C.int) error {
	if id := st.codecpar.codec_id; id != C.AV_CODEC_ID_PNG && id != C.AV_CODEC_ID_APNG || data == nil {
		return nil
	}
	if chunk := overfull(unsafe.Slice((*byte)(data), int(size))); chunk != "" {
		return &Error{Op: "decode", Path: path,
			Err:  fmt.Errorf("the %s of a PNG picture unpacks to more than %d MB", chunk, mostUnpacked>>20),
			hint: "remove it, for example with exiftool -all="}
	}
	return nil
}

// checkPictures checks the pictures, and headers of such, that are beside the packets.
func (s containerStreams) checkPictures(path string) error {
	for _, st := range s.list() {
		if err := checkPicture(path, st, st.codecpar.extradata, st.codecpar.extradata_size); err != nil {
			return err
		}
		if err := checkPicture(path, st, st.attached_pic.data, st.attached_pic.size); err != nil {
			return err
		}
	}
	return nil
}

// overfull names the kind of the chunk with which a PNG unpacks to more than mostUnpacked, or
// returns "".
func overfull(png []byte) string {
	rest, left := bytes.TrimPrefix(png, []byte("\x89PNG\r\n\x1a\n")), int64(mostUnpacked)
	for len(rest) >= 8 {
		n, kind := int64(binary.BigEndian.Uint32(rest)), string(rest[4:8])
		rest = rest[8:]
		data := rest[:min(n, int64(len(rest)))]
		if left -= unpacked(kind, data, left); left < 0 {
			return map[string]string{"iCCP": "colour profile"}[kind] + map[string]string{"zTXt": "text", "iTXt": "text"}[kind]
		}
		rest = rest[min(n+4, int64(len(rest))):] // with a checksum
	}
	return ""
}

// unpacked returns how many bytes a chunk unpacks to, or some number above most.
func unpacked(kind string, data []byte, most int64) int64 {
	name := bytes.IndexByte(data, 0)
	if name < 0 {
		return 0
	}
	data = data[name+1:]
	switch kind {
	case "iCCP", "zTXt": // the method follows
		data = data[min(1, len(data)):]
	case "iTXt": // a flag, the method, the language and the translated name follow
		if len(data) < 2 || data[0] == 0 {
			return 0
		}
		data = data[2:]
		for range 2 {
			data = data[bytes.IndexByte(data, 0)+1:]
		}
	default:
		return 0
	}
	r, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		return 0
	}
	n, _ := io.CopyN(io.Discard, r, most+1)
	return n
}
