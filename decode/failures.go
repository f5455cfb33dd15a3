package decode

//#include "glue.h"
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
)

// otherCodec is how many packets in a row must fail after a program changed, before its video is
// taken to be in another codec.
const otherCodec = 20

// decodeError counts an error and gives up if there are too many.
func (in *Input) decodeError(err error) error {
	if in.device.lost() {
		return err
	}
	const enough = 8
	if av.Errno(err) == int(C.ENOMEM) {
		// A damaged packet may ask for absurd amounts; if all do, memory has really run out.
		if in.starved++; in.starved > enough {
			return av.OfShortage(err, fmt.Errorf("decode %s: %w", in.path, err))
		}
	}
	if !in.begun() {
		return nil
	}
	in.failed++
	in.damage.DecodeErrors++
	if in.failedInRow++; in.failedInRow >= otherCodec && in.tableChanged(in.packets-in.failedInRow) && !in.videoLost {
		in.loseVideo()
		return nil
	}
	if errors.Is(err, astiav.ErrPatchwelcome) {
		in.unsupported++
	}
	const enoughToJudge = 50
	if in.packets >= enoughToJudge {
		return in.tooDamaged()
	}
	return nil
}

// undecodable is the error of a video of which no packet can be decoded: no tolerance helps.
func (in *Input) undecodable() *Error {
	e := &Error{Op: "decode", Path: in.path}
	switch codec := in.codec.Name(); {
	case in.encrypted():
		return in.encryptedError()
	case in.unsupported > 0:
		e.Err = fmt.Errorf("FFmpeg cannot decode this kind of %s", codec)
	default:
		e.Err = fmt.Errorf("none of the first %d packets can be decoded as %s: they are damaged, encrypted, or of a kind that FFmpeg does not know", in.packets, codec)
	}
	return e
}

// encrypted reports whether the container says that the video is, as a whole.
func (in *Input) encrypted() bool {
	par := in.stream(in.video.Index()).codecpar
	return par.codec_tag == tag("encv") || entries(in.stream(in.video.Index()).metadata)["enc_key_id"] != ""
}

// beginsEncrypted is the error of an encrypted packet. Those before it may be clear.
func (in *Input) beginsEncrypted() error {
	e := in.encryptedError()
	if in.emitted > 0 {
		at := time.Duration(in.last-in.zero()) * time.Microsecond
		e.Err = fmt.Errorf("the video is encrypted from %v on", at.Round(time.Millisecond))
		e.hint = fmt.Sprintf("--duration %v takes what is before, or decrypt it with its key first", at.Truncate(time.Millisecond))
	}
	return e
}

func (in *Input) encryptedError() *Error {
	return &Error{Op: "decode", Path: in.path, Err: errors.New("the video is encrypted"), hint: "decrypt it with its key first"}
}

func (in *Input) tooDamaged() error {
	if in.opts.MaxErrorRate <= 0 && in.failed == 0 || in.packets == 0 {
		return nil
	}
	if rate := float64(in.failed) / float64(in.packets); rate > in.opts.MaxErrorRate {
		err := &Error{Op: "decode", Path: in.path,
			Err:  fmt.Errorf("%d of %d packets are damaged, more than --max-error-rate %g allows", in.failed, in.packets, in.opts.MaxErrorRate),
			hint: "give a higher --max-error-rate to take what can be read"}
		if in.decoded == 0 {
			err = in.undecodable()
		}
		return cmp.Or(av.OfShortage(nil, err), error(err))
	}
	return nil
}
