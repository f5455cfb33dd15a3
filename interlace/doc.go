// Package interlace deinterlaces video: it makes a progressive frame from each field, or from the
// first field of each frame. [Filter] collects the neighbouring fields and sets the times. An
// [Engine] fills in the missing rows. [Plain] is the reference in Go.
package interlace
