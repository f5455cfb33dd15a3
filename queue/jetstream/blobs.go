package jetstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"vidfilter/queue"
)

type blobs struct{ e *Engine }

// chunkBytes is how much of a file is in one message: each one is written through.
const chunkBytes = 512 << 10

// Blobs is described at queue.Engine. What Get has read is compared with the sum that Put took; where they differ it fails.
func (e *Engine) Blobs() queue.Blobs { return blobs{e} }

func (b blobs) Put(ctx context.Context, name string, r io.Reader) error {
	if name == "" {
		return errors.New("queue: storing a file: no name")
	}
	_, err := b.e.objects.Put(ctx, jetstream.ObjectMeta{
		Name: name,
		Opts: &jetstream.ObjectMetaOptions{ChunkSize: uint32(min(chunkBytes, b.e.maxBytes))},
	}, r)
	if err != nil {
		return fmt.Errorf("queue: storing %s: %w", name, err)
	}
	return nil
}

func (b blobs) Get(ctx context.Context, name string, w io.Writer) error {
	o, err := b.e.objects.Get(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return fmt.Errorf("%w: %s", queue.ErrNoBlob, name)
	}
	if err == nil {
		_, err = io.Copy(w, o)
		err = errors.Join(err, o.Close())
	}
	if err != nil {
		return fmt.Errorf("queue: fetching %s: %w", name, err)
	}
	return nil
}

func (b blobs) Delete(ctx context.Context, name string) error {
	err := b.e.objects.Delete(ctx, name)
	if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return fmt.Errorf("queue: deleting %s: %w", name, err)
	}
	return nil
}

func (b blobs) List(ctx context.Context, prefix string) ([]string, error) {
	infos, err := b.e.objects.List(ctx)
	if err != nil && !isEmpty(err) {
		return nil, fmt.Errorf("queue: listing files: %w", err)
	}
	var names []string
	for _, o := range infos {
		if strings.HasPrefix(o.Name, prefix) {
			names = append(names, o.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

func isEmpty(err error) bool { return errors.Is(err, jetstream.ErrNoObjectsFound) }
