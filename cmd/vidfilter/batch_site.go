package main

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"vidfilter/batch/tasks"
	"vidfilter/queue"
)

// siteOf returns the name of those who reach the files: of all processes that share the folder of a batch's state or, with --shared, of
// all machines that have that folder.
func siteOf(state, shared string) (string, error) {
	name := filepath.Join(state, "site")
	if shared != "" {
		name = filepath.Join(shared, ".vidfilter-site")
	}
	if b, err := os.ReadFile(name); err == nil && len(b) > 8 {
		return strings.TrimSpace(string(b)), nil
	}
	var id [6]byte
	_, _ = rand.Read(id[:])
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) { // another was quicker
		b, err := os.ReadFile(name)
		return strings.TrimSpace(string(b)), err
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	site := "site-" + hex.EncodeToString(id[:])
	if _, err := fmt.Fprintln(f, site); err != nil {
		return "", err
	}
	return site, f.Close()
}

func workerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}

// framesOf is how many frames a job that is done has written.
func framesOf(s queue.Status) int64 {
	var res tasks.Result
	if s.State != queue.Done || json.Unmarshal(s.Result, &res) != nil {
		return 0
	}
	return res.Frames
}
