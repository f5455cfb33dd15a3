package job

import (
	"fmt"
	"io"
	"path/filepath"

	"vidfilter/encode/target"
)

// Document is the file of a report or drawing, or nil.
type Document struct{ target *target.File }

// OpenDocument checks that a file can be written before any work is done. The file must not be
// one of inputs.
func OpenDocument(name string, inputs []string) (*Document, error) {
	if name == "" {
		return nil, nil
	}
	t, err := target.Open(filepath.Clean(name), target.Replace, inputs)
	if err != nil {
		return nil, err
	}
	return &Document{t}, nil
}

// Write writes the document and gives it its name. After an error no file is left, except as the
// error states.
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
func WriteTarget(t *target.File, write func(io.Writer) error) error {
	f, err := t.OpenFile()
	if err != nil {
		return fmt.Errorf("%w: %w", target.ErrOutput, err)
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
