package main

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"vidfilter/encode"
	"vidfilter/internal/text"
)

// overwritePolicy says what becomes of an output that exists: -y replaces it, a person at a terminal is
// asked, and everyone else is refused. stop ends a question that waits for its answer.
func (o *options) overwritePolicy(u *ui, stop <-chan struct{}) encode.OverwritePolicy {
	switch {
	case o.Overwrite:
		return encode.Replace
	case !u.canAsk:
		return encode.Refuse
	}
	return func(path string) error { return u.confirm(path, stop) }
}

func (u *ui) confirm(path string, stop <-chan struct{}) error {
	u.mu.Lock()
	u.clear()
	fmt.Fprintf(u.w, "vidfilter: %s exists. Replace it? [y/N] ", text.OneLine(path))
	u.mu.Unlock()
	answer := make(chan string, 1)
	go func() { // stays behind when a signal comes first: nothing ends a read of a terminal
		s, _ := bufio.NewReader(u.in).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(s))
	}()
	select {
	case s := <-answer:
		if s == "y" || s == "yes" {
			return nil
		}
		return errors.New("not replaced")
	case <-stop:
		return interruption{syscall.SIGINT} // whichever it was: interruptible knows
	}
}
