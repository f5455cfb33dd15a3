package wake

import "testing"

func TestUp(t *testing.T) {
	c := make(chan struct{}, 1)
	Up(c)
	Up(c)
	<-c
	select {
	case <-c:
		t.Error("two calls woke twice")
	default:
	}
}
