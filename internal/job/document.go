package job

import (
	"fmt"
	"io"
	"path/filepath"

	"vidfilter/encode"
)

// Document is the file of a report or drawing; nil if none was requested.
type Document struct{ target *encode.Target }

// OpenDocument checks that a file can be written before any work is done. The file must not be
// one of inputs.
func OpenDocument(name string, inputs []string) (*Document, error) {
	if name == "" {
		return nil, nil
	}
	t, err := encode.OpenTarget(filepath.Clean(name), encode.Replace, inputs)
	if err != nil {
		return nil, err
	}
	return &Document{t}, nil
}

// Write writes the document and gives it its name. After an error nothing is left, or the error
// says what.
func (d *Document) Write(write func(io.Writer) error) error {
	if d == nil {
		return nil
	}
	err := WriteTarget(d.target, write)
	if err == nil {
		return nil
	}
	if left := d.target.Discard(); left != nil {
		err = fmt.Errorf("%w; %w", err, left)
	}
	return err
}

// WriteTarget writes a file and gives it the target's name. After an error the caller discards
// the target.
func WriteTarget(t *encode.Target, write func(io.Writer) error) error {
	f, err := t.File()
	if err != nil {
		return fmt.Errorf("%w: %w", encode.ErrOutput, err)
	}
	err = write(f)
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return t.Commit()
}

func (d *Document) Discard() {
	if d != nil {
		_ = d.target.Discard()
	}
}
