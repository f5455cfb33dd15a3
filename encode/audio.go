package encode

import (
	"errors"

	"github.com/asticode/go-astiav"
)

type audioConverter struct{}

func (a *audioConverter) push(o *Output, l *lane, p *astiav.Packet) error { return nil }
func (a *audioConverter) close()                                          {}

func (o *Output) convertAudio(s *astiav.Stream) error { return errors.New("no conversion") }
