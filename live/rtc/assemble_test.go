package rtc

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"
)

// pictures returns pictures and their packets, every tenth a key frame. Sequence numbers wrap.
func pictures(n int) (coded [][]byte, packets [][]*rtp.Packet) {
	number := uint16(65530)
	for i := range n {
		kind := byte(0x41)
		if i%10 == 0 {
			kind = 0x65
		}
		unit := append([]byte{kind, 0x80}, bytes.Repeat([]byte{byte(i) | 1}, 300+i)...)
		b := append(slices.Clone(startCode), unit...)
		coded = append(coded, b)
		all := (&codecs.H264Payloader{}).Payload(100, b)
		var p []*rtp.Packet
		for k, payload := range all {
			p = append(p, &rtp.Packet{Header: rtp.Header{SequenceNumber: number, Timestamp: uint32(3000 * i), Marker: k == len(all)-1}, Payload: payload})
			number++
		}
		packets = append(packets, p)
	}
	return coded, packets
}

// feeder pushes packets, a picture each 33 ms.
type feeder struct {
	a    assembler
	now  time.Time
	got  [][]byte
	lost bool
}

func (f *feeder) push(all ...*rtp.Packet) {
	for _, p := range all {
		units, lost := f.a.push(f.now, p)
		f.lost = lost
		for _, u := range units {
			f.got = append(f.got, u.data)
		}
	}
	f.now = f.now.Add(33 * time.Millisecond)
}

func (f *feeder) check(t *testing.T, want ...[]byte) {
	t.Helper()
	if !slices.EqualFunc(f.got, want, bytes.Equal) {
		t.Fatalf("%d pictures, not %d: %s", len(f.got), len(want), lengths(f.got))
	}
	if n := len(f.a.ahead); n != 0 {
		t.Errorf("%d packets wait", n)
	}
}

func lengths(all [][]byte) (s string) {
	for _, b := range all {
		s += fmt.Sprint(len(b), " ")
	}
	return s
}

func TestAssemble(t *testing.T) {
	coded, packets := pictures(30)
	for name, mix := range map[string]func(p []*rtp.Packet) []*rtp.Packet{
		"in order":   func(p []*rtp.Packet) []*rtp.Packet { return p },
		"twice":      func(p []*rtp.Packet) []*rtp.Packet { return append(slices.Clone(p), p...) },
		"end first":  func(p []*rtp.Packet) []*rtp.Packet { p = slices.Clone(p); slices.Reverse(p[1:]); return p },
		"one is out": func(p []*rtp.Packet) []*rtp.Packet { return append(append(slices.Clone(p[:1]), p[2:]...), p[1]) },
	} {
		t.Run(name, func(t *testing.T) {
			var f feeder
			for i, p := range packets {
				f.push(mix(p)...)
				if len(f.got) != i+1 {
					t.Fatalf("picture %d is not there with its last packet", i)
				}
			}
			f.check(t, coded...)
		})
	}
}

// Without marker bits a picture ends where the next begins, and padding is ignored.
func TestAssembleUnmarked(t *testing.T) {
	coded, packets := pictures(5)
	var f feeder
	for _, p := range packets {
		p[len(p)-1].Marker = false
		f.push(p...)
	}
	f.check(t, coded[:4]...)
	coded, packets = pictures(3)
	f = feeder{}
	n := packets[0][0].SequenceNumber
	for i, p := range packets {
		all := append(slices.Clone(p), &rtp.Packet{Header: rtp.Header{Timestamp: uint32(3000 * i)}})
		for _, q := range all {
			q.SequenceNumber = n
			n++
		}
		f.push(all...)
	}
	f.check(t, coded...)
}

// A retransmitted packet delays pictures and loses no picture.
func TestAssembleLate(t *testing.T) {
	coded, packets := pictures(8)
	var f feeder
	f.push(packets[0]...)
	f.push(packets[1][:2]...) // one is missing, then
	f.push(packets[1][3:]...)
	f.push(packets[2]...)
	if len(f.got) != 1 || f.lost {
		t.Errorf("%d pictures, lost: %v", len(f.got), f.lost)
	}
	f.push(packets[1][2])
	f.push(packets[3]...)
	f.check(t, coded[:4]...)
}

// A packet that never comes costs the pictures up to the next key frame.
func TestAssembleLost(t *testing.T) {
	coded, packets := pictures(25)
	for name, leave := range map[string]func(p []*rtp.Packet) []*rtp.Packet{
		"first":  func(p []*rtp.Packet) []*rtp.Packet { return p[1:] },
		"middle": func(p []*rtp.Packet) []*rtp.Packet { return append(slices.Clone(p[:1]), p[2:]...) },
		"last":   func(p []*rtp.Packet) []*rtp.Packet { return p[:len(p)-1] },
		"all":    func([]*rtp.Packet) []*rtp.Packet { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			var f feeder
			for i, p := range packets {
				if i == 3 {
					p = leave(p)
				}
				f.push(p...)
				if want := i >= 8 && i < 10; f.lost != want && i != 7 {
					t.Errorf("picture %d: lost: %v", i, f.lost)
				}
			}
			f.check(t, slices.Concat(coded[:3], coded[10:])...)
		})
	}
}

// A sender that restarts with other sequence numbers is followed.
func TestAssembleOtherNumbers(t *testing.T) {
	coded, packets := pictures(200)
	var f feeder
	for i, p := range packets {
		for _, q := range p {
			if i >= 100 {
				q.SequenceNumber -= 20000
			}
		}
		f.push(p...)
	}
	if n := len(f.got); n < 150 || !bytes.Equal(f.got[n-1], coded[199]) {
		t.Errorf("%d pictures", n)
	}
}

// Malformed packets do no harm.
func FuzzAssemble(f *testing.F) {
	f.Add([]byte{5, 0, 0x65, 1, 2, 3, 4, 5, 1, 0x7c, 0x85, 1, 2, 3})
	f.Fuzz(func(t *testing.T, b []byte) {
		var a assembler
		now := time.Unix(0, 0)
		for len(b) > 2 {
			n := min(int(b[0]&31), len(b)-2)
			p := &rtp.Packet{Header: rtp.Header{SequenceNumber: uint16(b[1]), Timestamp: uint32(b[1] >> 3), Marker: b[0]&32 != 0}, Payload: b[2 : 2+n]}
			units, _ := a.push(now, p)
			for _, u := range units {
				if len(u.data) == 0 {
					t.Error("a picture of nothing")
				}
			}
			b = b[2+n:]
			now = now.Add(50 * time.Millisecond)
		}
	})
}
