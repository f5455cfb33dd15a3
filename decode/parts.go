package decode

//#include "glue.h"
import "C"

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
)

// Parts reads the encoded video of parts of a source, in order. It is for one goroutine.
type Parts struct {
	paths  []string // not opened yet
	tag    string
	unit   string // the source's unit of time
	tb     astiav.Rational
	first  partFile // the others must match it
	now    *partFile
	latest int64 // the highest PTS of the parts before
	pkt    *astiav.Packet
}

// partFile is an open part.
type partFile struct {
	logger
	containerStreams
	codec   astiav.CodecID
	header  []byte
	size    [2]int
	origin  int64 // PTS of its first frame in the source
	begin   int64 // the same in the file's own count
	unit    astiav.Rational
	packets int
	latest  int64
}

// ListParts returns the files of a list, one a line, relative to the list's folder.
func ListParts(list string) (paths []string, err error) {
	text, err := os.ReadFile(list)
	if err != nil {
		return nil, &Error{Op: "open", Path: list, Err: errors.Unwrap(err)}
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		name := strings.TrimSuffix(lines.Text(), "\r")
		if name == "" {
			continue
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(list), name)
		}
		paths = append(paths, name)
	}
	if len(paths) == 0 {
		return nil, &Error{Op: "open", Path: list, Err: errors.New("the list names no part")}
	}
	return paths, nil
}

// OpenParts opens the parts of a list (see ListParts), in order. tag is each part's tag with the
// time of its first frame, tb the unit of the source.
func OpenParts(list, tag string, tb astiav.Rational) (*Parts, error) {
	paths, err := ListParts(list)
	if err != nil {
		return nil, err
	}
	p := &Parts{paths: paths, tag: tag, tb: tb, unit: tb.String(), latest: av.NoPTS, pkt: astiav.AllocPacket()}
	if err := p.open(); err != nil {
		p.Close()
		return nil, err
	}
	p.first = *p.now
	p.first.fc = nil
	return p, nil
}

// Header returns the codec's header, which all parts share: avcC, hvcC or av1C.
func (p *Parts) Header() []byte { return p.first.header }

// partHeaders are the first bytes of the headers of codecs that parts may have.
var partHeaders = map[astiav.CodecID]byte{astiav.CodecIDH264: 1, astiav.CodecIDHevc: 1, astiav.CodecIDAv1: 0x81}

// First returns the time of the first frame, in the unit of the source.
func (p *Parts) First() int64 { return p.first.origin }

// Close frees the parts. It may be called twice.
func (p *Parts) Close() {
	p.closeFile()
	if p.pkt != nil {
		p.pkt.Free()
		p.pkt = nil
	}
}

func (p *Parts) closeFile() {
	if p.now != nil {
		p.now.fc.CloseInput()
		p.now = nil
	}
}

// Next returns the next packet in decode order, with times in the unit of the source, or io.EOF.
// It belongs to the parts and is valid until the next call.
func (p *Parts) Next() (*astiav.Packet, error) {
	p.pkt.Unref()
	for {
		if p.now == nil {
			if len(p.paths) == 0 {
				return nil, io.EOF
			}
			if err := p.open(); err != nil {
				return nil, err
			}
			if err := p.fits(); err != nil {
				return nil, err
			}
		}
		err := p.now.fc.ReadFrame(p.pkt)
		switch {
		case err == nil:
			return p.pkt, p.place()
		case !errors.Is(err, astiav.ErrEof):
			return nil, &Error{Op: "read", Path: p.now.path, Err: err}
		}
		if n := int(C.avformat_index_get_entries_count(p.now.stream(0))); n != p.now.packets || n == 0 {
			return nil, &Error{Op: "read", Path: p.now.path, Err: fmt.Errorf("%d frames instead of %d", p.now.packets, n)}
		}
		p.latest = p.now.latest
		p.closeFile()
	}
}

// open opens the next part, without its edit list, by which decoding begins before the first frame.
func (p *Parts) open() error {
	f := &partFile{logger: logger{path: p.paths[0]}, latest: av.NoPTS}
	p.paths = p.paths[1:]
	if err := readable(f.path); err != nil {
		return err
	}
	f.fc = astiav.AllocFormatContext()
	dict := astiav.NewDictionary()
	defer dict.Free()
	_ = dict.Set("ignore_editlist", "1", 0)
	_ = dict.Set("protocol_whitelist", "file", 0)
	if err := f.fc.OpenInput("file:"+f.path, astiav.FindInputFormat("mov"), dict); err != nil {
		return &Error{Op: "open", Path: f.path, Err: fmt.Errorf("not a part, or damaged: %w", err)}
	}
	p.now = f
	if f.fc.NbStreams() != 1 || partHeaders[f.fc.Streams()[0].CodecParameters().CodecID()] == 0 {
		return p.now.partError("it is not H.264, HEVC or AV1 alone")
	}
	f.codec = f.fc.Streams()[0].CodecParameters().CodecID()
	st := f.stream(0)
	f.header = bytes.Clone(av.Slice((*byte)(st.codecpar.extradata), int(st.codecpar.extradata_size)))
	f.size = [2]int{int(st.codecpar.width), int(st.codecpar.height)}
	f.unit = f.fc.Streams()[0].TimeBase()
	says := entries(f.context().metadata)[p.tag]
	var unit string
	if n, err := fmt.Sscanf(says, "%d %s", &f.origin, &unit); n != 2 || err != nil {
		return p.now.partError("it does not say where it begins")
	}
	if unit != p.unit {
		return p.now.partError("it counts in %s s, the source in %s s", unit, p.unit)
	}
	if len(f.header) < 5 || f.header[0] != partHeaders[f.codec] {
		return p.now.partError("it lacks the headers of %s", f.codec)
	}
	return nil
}

// fits compares a part with the first one and the one before.
func (p *Parts) fits() error {
	switch f := p.now; {
	case f.size != p.first.size:
		return p.now.partError("its pictures are %dx%d, those of %s %dx%d", f.size[0], f.size[1], p.first.path, p.first.size[0], p.first.size[1])
	case !bytes.Equal(f.header, p.first.header):
		return p.now.partError("it is coded in another way than %s", p.first.path)
	case f.origin <= p.latest:
		return p.now.partError("it begins at %d, and the part before it ends at %d", f.origin, p.latest)
	}
	return nil
}

// place puts the times of the packet just read on the source's clock.
func (p *Parts) place() error {
	f := p.now
	if p.pkt.Flags().Has(astiav.PacketFlagCorrupt) || p.pkt.Pts() == av.NoPTS {
		return &Error{Op: "read", Path: f.path, Err: errors.New("it is damaged")}
	}
	if f.packets == 0 {
		if f.begin = p.pkt.Pts(); !p.pkt.Flags().Has(astiav.PacketFlagKey) || !isEntry(f.codec, f.header, payload(p.pkt)) {
			return p.now.partError("it does not begin with a key frame")
		}
	}
	f.packets++
	pts, exact := p.inSource(p.pkt.Pts())
	dts, _ := p.inSource(p.pkt.Dts())
	if !exact || pts < f.origin {
		return p.now.partError("its times are not those of the source")
	}
	p.pkt.SetPts(pts)
	p.pkt.SetDts(dts)
	f.latest = max(f.latest, pts)
	return nil
}

// inSource converts a time of the file to one of the source.
func (p *Parts) inSource(t int64) (in int64, exact bool) {
	n := (t - p.now.begin) * int64(p.now.unit.Num()) * int64(p.tb.Den())
	d := int64(p.now.unit.Den()) * int64(p.tb.Num())
	return p.now.origin + n/d, n%d == 0
}
