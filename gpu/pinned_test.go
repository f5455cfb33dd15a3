package gpu

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"vidfilter/internal/e2e"
)

// TestPinned: pinned memory lies between pages without access, so that writing beyond it
// ends the program.
func TestPinned(t *testing.T) {
	if !onDriver(t, "") {
		return
	}
	b := open(t, Options{})
	m, err := b.Alloc(12_345_678)
	e2e.Must(t, err)
	start := uintptr(unsafe.Pointer(&m.Bytes[0]))
	end := (start + uintptr(len(m.Bytes)) + 4095) &^ 4095
	for _, want := range []string{fmt.Sprintf("%x-%x ---p", start-4096, start), fmt.Sprintf("%x-%x rw-p", start, end), fmt.Sprintf("%x-%x ---p", end, end+4096)} {
		if !strings.Contains(mappings(t), want) {
			t.Errorf("no %s in\n%s", want, mappings(t))
		}
	}
	if !b.blocks.hold(span{start, start + uintptr(len(m.Bytes))}) {
		t.Error("it does not count as pinned")
	}
	m.Free()
	if still := fmt.Sprintf("%x-", start); strings.Contains(mappings(t), still) {
		t.Errorf("still mapped:\n%s", mappings(t))
	}
}

func mappings(t *testing.T) string {
	t.Helper()
	b := e2e.Read(t, "/proc/self/maps")
	return string(b)
}

// TestUnregistered: where the program's own memory cannot be pinned, the driver allocates it.
func TestUnregistered(t *testing.T) {
	if !onDriver(t, "unregistered=1,leaks=1") {
		return
	}
	if n, err := runFault(t, Options{}); n != 8 || err != nil {
		t.Errorf("%d frames, %v", n, err)
	}
}

func TestBlocks(t *testing.T) {
	var b blocks
	for _, s := range []span{{300, 400}, {100, 200}, {200, 250}} {
		b.add(s)
	}
	for _, test := range []struct {
		s    span
		want bool
	}{
		{span{100, 200}, true}, {span{110, 120}, true}, {span{99, 120}, false}, {span{150, 201}, false},
		{span{200, 250}, true}, {span{250, 260}, false}, {span{399, 400}, true}, {span{400, 401}, false}, {span{0, 1}, false},
	} {
		if got := b.hold(test.s); got != test.want {
			t.Errorf("%v: %v", test.s, got)
		}
	}
	if !b.remove(200) || b.remove(200) || b.remove(201) || b.hold(span{200, 210}) || !b.hold(span{100, 200}) {
		t.Errorf("after removing: %v", b.all)
	}
}
