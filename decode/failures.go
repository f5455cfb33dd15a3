package decode

//#include "glue.h"
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
)

// drain announces the end to the decoder, which still holds frames.
func (d *videoDecoder) drain() error {
	if d.tries > 0 {
		d.damage.ReadErrors++
		d.tries = 0
	}
	d.eof = true
	if d.opts.undecoded {
		return nil
	}
	d.pairs(true)
	return d.give(nil)
}

// give sends a packet to the decoder, nil as the end, and counts its error.
func (d *videoDecoder) give(p *astiav.Packet) error {
	if err := d.sendPacket(p); err != nil && !errors.Is(err, astiav.ErrEof) {
		return d.decodeError(err)
	}
	return nil
}

// toCPU goes on without the device, from the last entry on. Users hear of it if the device had
// begun, or must decode.
func (d *videoDecoder) toCPU(why fallbackReason) error {
	level := slog.LevelInfo
	if d.decoded == 0 && !errors.Is(why.error, errDamage) {
		if d.opts.MustDevice {
			return d.notOnDevice(fmt.Errorf("%w: %w", ErrDevice, why.error))
		}
		level = slog.LevelDebug
	}
	d.tell(level, "%v: decoding on the CPU from here on", why)
	o := d.device
	d.again, d.come = o.kept, o.come
	o.kept, o.size = nil, 0
	d.closeCodec()
	if err := d.openCodec(); err != nil {
		return err
	}
	d.reports.again(errors.Is(why.error, errDamage))
	return d.afterAgain()
}

// resend sends the next of the packets that the device had as well.
func (d *videoDecoder) resend() error {
	p := d.again[0]
	d.again = d.again[1:]
	defer p.Free()
	d.reports.sending(p, d.dec.ThreadCount())
	if err := d.give(p); err != nil {
		return err
	}
	return d.afterAgain()
}

// afterAgain ends the decoder's input again, if that is where the packets end.
func (d *videoDecoder) afterAgain() error {
	if len(d.again) > 0 || !d.eof {
		return nil
	}
	return d.give(nil)
}

// otherCodec is how many packets in a row must fail after a program changed, before its video is
// taken to be in another codec.
const otherCodec = 20

// decodeError counts an error and gives up if there are too many.
func (d *videoDecoder) decodeError(err error) error {
	if d.device.lost() {
		return err
	}
	const enough = 8
	if av.Errno(err) == int(C.ENOMEM) {
		// A damaged packet may ask for absurd amounts; if all do, memory has really run out.
		if d.starved++; d.starved > enough {
			return av.OfShortage(err, fmt.Errorf("decode %s: %w", d.path, err))
		}
	}
	if !d.begun {
		return nil
	}
	d.failed++
	d.damage.DecodeErrors++
	if d.failedInRow++; d.failedInRow >= otherCodec && d.tableChanged() && !d.videoLost {
		d.loseVideo()
		return nil
	}
	if errors.Is(err, astiav.ErrPatchwelcome) {
		d.unsupported++
	}
	const enoughToJudge = 50
	if d.packets >= enoughToJudge {
		return d.tooDamaged()
	}
	return nil
}

// loseVideo leaves out the rest of a video that continues in another codec under the same PID.
func (d *videoDecoder) loseVideo() {
	d.videoLost = true
	d.failed -= d.failedInRow // these packets are not damaged
	d.damage.LateStreams++
	d.warn("the video goes on from %.3f s in another codec: that part is left out; filter it as a file of its own", float64(d.last)/float64(second))
}

func (d *videoDecoder) tooDamaged() error {
	if d.opts.MaxErrorRate <= 0 && d.failed == 0 || d.packets == 0 {
		return nil
	}
	if rate := float64(d.failed) / float64(d.packets); rate > d.opts.MaxErrorRate {
		err := &Error{Op: "decode", Path: d.path,
			Err:  fmt.Errorf("%d of %d packets are damaged, more than --max-error-rate %g allows", d.failed, d.packets, d.opts.MaxErrorRate),
			hint: "give a higher --max-error-rate to take what can be read"}
		if d.decoded == 0 {
			err = d.undecodable()
		}
		return cmp.Or(av.OfShortage(nil, err), error(err))
	}
	return nil
}

// undecodable is the error of a video without a packet that can be decoded.
func (d *videoDecoder) undecodable() *Error {
	e := &Error{Op: "decode", Path: d.path}
	switch codec := d.codec.Name(); {
	case d.encrypted():
		return d.encryptedError()
	case d.unsupported > 0:
		e.Err = fmt.Errorf("FFmpeg cannot decode this kind of %s", codec)
	default:
		e.Err = fmt.Errorf("none of the first %d packets can be decoded as %s: they are damaged, encrypted, or of a kind that FFmpeg does not know", d.packets, codec)
	}
	return e
}

// encrypted reports whether the container marks the whole video as encrypted.
func (d *videoDecoder) encrypted() bool {
	return d.par().codec_tag == tag("encv") || entries((*C.AVStream)(av.StreamPtr(d.coded)).metadata)["enc_key_id"] != ""
}

func (d *videoDecoder) encryptedError() *Error {
	return &Error{Op: "decode", Path: d.path, Err: errors.New("the video is encrypted"), hint: "decrypt it with its key first"}
}
