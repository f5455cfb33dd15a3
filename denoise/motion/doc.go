// Package motion finds where the parts of a frame are in another frame. It is the definition of
// the denoiser's motion search: the forms for the CPU and the GPU give the same vectors.
//
// Everything is in integers of 8 bits, for samples of any depth, so that "the same" means bit for
// bit. A vector is in half-pels and leads from a sample of the frame to be filtered to the matching
// one of its neighbour. A plane goes on beyond its edges with the samples of the edges.
//
// [Prepare] makes the search's planes of a frame: the luma smoothed against noise, its pyramid, and
// its planes between the samples. [Search.Find] matches two such frames from the coarsest level of
// the pyramid to the finest, [Search.Refine] improves the vectors once a first result of the filter
// is there, [Field.Extend] guesses the vectors of frames further away, and [Search.Fits] reports
// whether a frame resembles its neighbour at all.
//
// The method is under "Planes", "Search" and "Tiers" in docs/denoise.md.
package motion
