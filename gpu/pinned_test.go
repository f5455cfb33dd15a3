package gpu

import "testing"

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
