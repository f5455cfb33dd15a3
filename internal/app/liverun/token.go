package liverun

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"vidfilter/internal/cli"
	"vidfilter/internal/durable"
	"vidfilter/internal/site"
	"vidfilter/internal/terminal"
	"vidfilter/internal/text"
)

const tokenRule = site.TokenRule + "; vidfilter writes a good one into a file that does not exist yet"

// token returns the token of the session: from the environment or from a file, which is made if it
// is missing, else a new one. given means that Token is the token itself.
func (o *Options) token(given bool, u *terminal.UI) (string, error) {
	switch {
	case o.Token == "":
		return rand.Text(), nil
	case !given:
		return tokenOf(o.Token, u)
	case !site.IsToken(o.Token):
		return "", cli.Usagef(tokenRule, "VIDFILTER_TOKEN is not a token")
	}
	return o.Token, nil
}

// tokenOf reads a token from a file that only its owner can read.
func tokenOf(name string, u *terminal.UI) (string, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		if err := durable.WriteSecret(name, []byte(rand.Text()+"\n")); err != nil {
			return "", cli.Usagef("name a file in a folder that you can write", "--token: %v", err)
		}
		u.Info("a new token is in " + name)
		f, err = os.Open(name)
	}
	if err != nil {
		return "", cli.Usagef("name a file that you can read", "--token: %v", err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", cli.Usagef("name a file that holds the token", "--token %s: it is not a file", name)
	case info.Mode().Perm()&0o077 != 0:
		return "", cli.Usagef("chmod 600 "+text.ShellQuote(name), "--token %s: others can use the file", name)
	}
	const enough = 1 << 10
	b, err := io.ReadAll(io.LimitReader(f, enough))
	if err != nil {
		return "", fmt.Errorf("--token: %w", err)
	}
	token := strings.TrimSpace(string(b))
	if !site.IsToken(token) {
		return "", cli.Usagef(tokenRule, "--token %s: the file holds no token", name)
	}
	return token, nil
}
