// Package repair detects dirt, dust, dropouts and lost lines in single frames, and replaces them
// with samples of the neighbouring frames.
//
// A patch is damage if it differs from both motion-compensated neighbours by far more than they
// differ from each other, and no moving object explains it. All other samples keep their values.
// Frames without damage are passed on without a copy.
package repair
