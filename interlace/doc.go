// Package interlace makes progressive frames of interlaced ones: a frame of each field, or of the
// first field of each frame. [Filter] finds the fields around each and keeps the times; an [Engine]
// makes the rows that a field lacks. [Plain] is the definition in Go.
package interlace
