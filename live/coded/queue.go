package coded

import (
	"context"
	"errors"
	"time"

	"vidfilter/internal/wake"
)

// ErrEnded is the end of a session.
var ErrEnded = errors.New("the session has ended")

// Queue holds the pictures that wait for a client. With Want and Rate it is a Client. Next is for
// one goroutine.
type Queue struct {
	pictures chan Picture
	ended    chan struct{} // holds an element once the session has ended
}

// NewQueue returns a queue with room for some pictures.
func NewQueue(room int) Queue { return Queue{make(chan Picture, room), make(chan struct{}, 1)} }

// Next waits for a picture. It fails when ctx or the session ends.
func (q Queue) Next(ctx context.Context) (Picture, error) {
	select {
	case p := <-q.pictures: // also after the end
		return p, nil
	default:
	}
	select {
	case p := <-q.pictures:
		return p, nil
	case <-q.ended:
		q.End() // for the next call
		return Picture{}, ErrEnded
	case <-ctx.Done():
		return Picture{}, context.Cause(ctx)
	}
}

// Interval implements Client, as do the methods below.
func (q Queue) Interval() time.Duration { return 0 }
func (q Queue) Room() bool              { return len(q.pictures) < cap(q.pictures) }
func (q Queue) Refuse(error)            {} // the next picture may have another format
func (q Queue) End()                    { wake.Up(q.ended) }

func (q Queue) Take(p Picture) {
	select {
	case q.pictures <- p:
	default: // only the pool puts pictures in, when there is room
	}
}
