package terminal

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"vidfilter/internal/text"
)

func (u *UI) Confirm(path string, stop <-chan struct{}) error {
	u.print(fmt.Sprintf("vidfilter: %s exists. Replace it? [y/N] ", text.OneLine(path)))
	answer := make(chan string, 1)
	go func() { // outlives an interrupted question: a read of a terminal cannot be ended
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
		return Interruption{syscall.SIGINT} // the true one is known to Interruptible
	}
}
