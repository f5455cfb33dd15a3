package main

import (
	"errors"
	"strings"
)

// repeated is a flag of names that may be given several times; in one value, commas separate.
type repeated struct {
	p    *[]string
	what string
}

func (r *repeated) String() string { return strings.Join(*r.p, ",") }
func (r *repeated) Type() string   { return r.what }
func (r *repeated) Set(s string) error {
	for item := range strings.SplitSeq(s, ",") {
		if item == "" || strings.ContainsAny(item, " /?#\\") {
			return errors.New("not a name")
		}
		*r.p = append(*r.p, item)
	}
	return nil
}
