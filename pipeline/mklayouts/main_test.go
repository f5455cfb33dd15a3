package main

import (
	"path/filepath"
	"testing"

	"vidfilter/internal/e2e"
)

// C's headers say the same as the table.
func TestHeaders(t *testing.T) {
	for _, folder := range packages {
		got := e2e.Read(t, filepath.Join("..", "..", folder, "layouts.h"))
		if string(got) != header() {
			t.Errorf("%s/layouts.h is not what the table gives; run: go generate ./pipeline", folder)
		}
	}
}
