package liverun

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/internal/hint"
	"vidfilter/internal/terminal"
)

func TestToken(t *testing.T) {
	o, u := NewOptions(), terminal.NewUI(terminal.Stdio{In: strings.NewReader(""), Out: &strings.Builder{}, Err: &strings.Builder{}}, terminal.UIOptions{})
	first, err1 := o.token(false, u)
	second, err2 := o.token(false, u)
	if err1 != nil || err2 != nil || first == second || len(first) < 16 {
		t.Errorf("%q, %v, then %q, %v", first, err1, second, err2)
	}
	o.Token = "from-the-environment"
	if got, err := o.token(true, u); err != nil || got != o.Token {
		t.Errorf("%q, %v", got, err)
	}
	o.Token = "short"
	if _, err := o.token(true, u); err == nil || strings.Contains(err.Error(), o.Token) {
		t.Errorf("a short one: %v", err)
	}

	o.Token = filepath.Join(t.TempDir(), "token")
	made, err := o.token(false, u)
	e2e.Must(t, err)
	if info, err := os.Stat(o.Token); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the new file: %v, %v", info.Mode(), err)
	}
	if again, err := o.token(false, u); err != nil || again != made {
		t.Errorf("%q, then %q, %v", made, again, err)
	}
	e2e.Must(t, os.Chmod(o.Token, 0o640))
	if _, err := o.token(false, u); err == nil || !strings.Contains(hint.Of(err)+err.Error(), "chmod 600") {
		t.Errorf("a file that others can read: %v", err)
	}
	for text, want := range map[string]bool{
		"": false, "fifteen-letters": false, "sixteen-letters-": true, "  sixteen.letters_\n": true, "a token with spaces in it": false,
		"first-line-of-a-file\nsecond": false, strings.Repeat("x", 200): false, strings.Repeat(" ", 2<<10) + "far-behind-the-rest": false,
	} {
		e2e.Must(t, os.WriteFile(o.Token, []byte(text), 0o600))
		e2e.Must(t, os.Chmod(o.Token, 0o400))
		if got, err := o.token(false, u); (err == nil) != want || want && got != strings.TrimSpace(text) {
			t.Errorf("%.30q: %q, %v", text, got, err)
		}
		_ = os.Remove(o.Token)
	}
	o.Token = filepath.Join(t.TempDir(), "no", "folder")
	if _, err := o.token(false, u); err == nil {
		t.Error("a file in a folder that is not there")
	}
	o.Token = t.TempDir()
	if _, err := o.token(false, u); err == nil {
		t.Error("a folder")
	}
}
