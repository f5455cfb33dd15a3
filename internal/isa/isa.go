// Package isa names the instruction sets that the C code is compiled for.
package isa

import (
	"fmt"
	"slices"

	"golang.org/x/sys/cpu"
)

// ISA is an instruction set, by its number in the C code.
type ISA int

// The instruction sets.
const (
	Plain  ISA = iota // of every machine
	AVX2              // and FMA
	AVX512            // F, BW, DQ and VL
)

var names = []string{"plain", "avx2", "avx512"}

func (i ISA) String() string { return names[i] }

// Names returns those that this machine can run, fastest first. "plain" is always among them.
func Names() []string {
	all := slices.Clone(names[:Fastest()+1])
	slices.Reverse(all)
	return all
}

// Fastest returns the fastest that this machine can run.
func Fastest() ISA {
	switch x := cpu.X86; {
	case !x.HasAVX2 || !x.HasFMA:
		return Plain
	case !x.HasAVX512F || !x.HasAVX512BW || !x.HasAVX512DQ || !x.HasAVX512VL:
		return AVX2
	}
	return AVX512
}

// Find returns the one of a name, the fastest for "".
func Find(name string) (ISA, error) {
	if name == "" {
		return Fastest(), nil
	}
	if i := ISA(slices.Index(names, name)); i >= 0 && i <= Fastest() {
		return i, nil
	}
	return 0, fmt.Errorf("this CPU has no instruction set %q: choose from %v", name, Names())
}
