package isa_test

import (
	"testing"

	"vidfilter/internal/isa"
)

func TestFind(t *testing.T) {
	names := isa.Names()
	if names[len(names)-1] != "plain" {
		t.Errorf("plain is not last of %v", names)
	}
	for _, name := range names {
		if set, err := isa.Find(name); err != nil || set.String() != name {
			t.Errorf("%s: %v, %v", name, set, err)
		}
	}
	if set, err := isa.Find(""); err != nil || set.String() != names[0] {
		t.Errorf("the fastest of %v: %v, %v", names, set, err)
	}
	if _, err := isa.Find("mmx"); err == nil {
		t.Error("mmx is accepted")
	}
}
