package contract

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

func TestNamesKeepTheirBytesInJSON(t *testing.T) {
	for _, c := range []struct{ name, json string }{
		{"", `""`},
		{"Käse \"1\"\n.mp4", `"Käse \"1\"\n.mp4"`},
		{"K\xe4se.mp4", `"K\udce4se.mp4"`},
		{"\xff\xfe", `"\udcff\udcfe"`},
		{`\udce4`, `"\\udce4"`},
		{"\U0001f9c0\x80", `"🧀\udc80"`},
		{"\xed\xb3\xa4", `"\udced\udcb3\udca4"`}, // a surrogate is invalid in UTF-8
		{"\ufffd", `"�"`},
	} {
		b, err := json.Marshal(Name(c.name))
		if err != nil || string(b) != c.json {
			t.Errorf("%q in JSON: %s, %v; want %s", c.name, b, err, c.json)
		}
		var back Name
		if err := json.Unmarshal(b, &back); err != nil || string(back) != c.name {
			t.Errorf("%s is read as %q, %v; want %q", b, back, err, c.name)
		}
	}
	var pair Name
	if err := json.Unmarshal([]byte(`"\ud83e\uddc0 \ud83d\udc80"`), &pair); err != nil || pair != "🧀 💀" {
		t.Errorf("pairs of surrogates are read as %q, %v", pair, err)
	}
	for _, bad := range []string{`1`, `{}`, `[]`, `true`} {
		if err := json.Unmarshal([]byte(bad), new(Name)); err == nil {
			t.Errorf("%s was taken for a name", bad)
		}
	}
}

func FuzzNames(f *testing.F) {
	f.Add([]byte("K\xe4se\\ud"), []byte(`"\udc80\ud83d\udc80"`))
	f.Fuzz(func(t *testing.T, name, text []byte) {
		b, err := json.Marshal(Name(name))
		if err != nil || !utf8.Valid(b) {
			t.Fatalf("%q: %q, %v", name, b, err)
		}
		var back Name
		if err := json.Unmarshal(b, &back); err != nil || string(back) != string(name) {
			t.Fatalf("%q became %q, %v", name, back, err)
		}
		_ = json.Unmarshal(text, &back) // must not panic
	})
}
