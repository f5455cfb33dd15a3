// Package repair replaces dirt, dust, dropouts and lost lines, which spoil a place of one frame, by
// what the frames before and after show there.
//
// A patch is damage if it differs from both neighbours, moved to where their motion leads, by far
// more than these differ from each other, and if no moving thing explains it. All else stays as it
// is, bit for bit: a frame without damage is passed on.
package repair
