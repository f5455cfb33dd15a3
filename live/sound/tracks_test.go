package sound

import (
	"testing"
	"time"
)

func TestOpusLength(t *testing.T) {
	const ms = time.Millisecond
	for want, packets := range map[time.Duration][][]byte{
		0:                       {nil, {0xff}, {0xff, 0}, {0xff, 7}, {0x1b, 3}},
		2500 * time.Microsecond: {{0x80}}, 5 * ms: {{0x88}, {0x81}}, 10 * ms: {{0x00}, {0x60}, {0x90}}, 20 * ms: {{0xfc}, {0x68}, {0x08}, {0x01}},
		40 * ms: {{0xfd}, {0xfe}, {0xff, 2}, {0x10}}, 60 * ms: {{0x18}, {0xff, 3}}, 120 * ms: {{0xff, 6}, {0x19}},
	} {
		for _, b := range packets {
			if got := OpusLength(b); got != want {
				t.Errorf("%x: %v instead of %v", b, got, want)
			}
		}
	}
}
