package contract

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Name is the name of a file, or a message that holds one: any bytes. In a JSON string, bytes that
// are not UTF-8 would all become the same character, and different names one. So such a byte is
// written as a lone surrogate, \udc80 to \udcff, as Python's os.fsdecode does, and read as the
// byte.
type Name string

// MarshalJSON implements json.Marshaler.
func (n Name) MarshalJSON() ([]byte, error) {
	out := []byte{'"'}
	for s := string(n); s != ""; {
		valid := validPrefix(s)
		text, err := json.Marshal(s[:valid])
		if err != nil {
			return nil, err
		}
		out = append(out, text[1:len(text)-1]...)
		if s = s[valid:]; s != "" {
			out = fmt.Appendf(out, `\udc%02x`, s[0])
			s = s[1:]
		}
	}
	return append(out, '"'), nil
}

// validPrefix returns how many bytes are UTF-8 before the first that is not.
func validPrefix(s string) (n int) {
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		n += size
	}
	return n
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Name) UnmarshalJSON(b []byte) error {
	switch {
	case string(b) == "null":
		return nil
	case len(b) < 2 || b[0] != '"':
		return fmt.Errorf("a name must be a string, not %s", b)
	}
	var out []byte
	from, end := 1, len(b)-1 // without the quotes
	take := func(to int) error {
		var text string
		err := json.Unmarshal(fmt.Appendf(nil, `"%s"`, b[from:to]), &text)
		out = append(out, text...)
		return err
	}
	for i := from; i < end; {
		unit, size := codeUnit(b[i:end])
		switch {
		case unit >= 0xd800 && unit < 0xdc00: // the other half of a pair follows
			_, second := codeUnit(b[i+size : end])
			size += second
		case unit >= 0xdc80 && unit <= 0xdcff:
			if err := take(i); err != nil {
				return err
			}
			out = append(out, byte(unit))
			from = i + size
		}
		i += size
	}
	if err := take(max(from, end)); err != nil {
		return err
	}
	*n = Name(out)
	return nil
}

// codeUnit returns the number of a \uXXXX at the beginning of b, or 0 for anything else, and its
// length.
func codeUnit(b []byte) (unit uint64, size int) {
	switch {
	case len(b) < 2 || b[0] != '\\':
		return 0, min(1, len(b))
	case b[1] != 'u' || len(b) < 6:
		return 0, 2
	}
	unit, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	if err != nil {
		unit = 0
	}
	return unit, 6
}
