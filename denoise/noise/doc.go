// Package noise measures the noise of a video: how strong it is, how that depends on frequency and
// on brightness, in each frame, with no parameter to set.
//
// # How
//
// A block of 8x8 samples differs from its match in the frame before by the noise of both, by motion
// and by failed matches. Over many blocks the energies of these differences have a lowest cluster:
// blocks with noise only. Its mean is the level of the noise. The energies within the frames,
// without their low frequencies, bound it from above and replace it where frames are copies. From
// the blocks of the cluster comes the spectrum. (See histogram.low and statistics.noise.) Where
// bright parts have more noise than dark ones, each brightness has a cluster of its own, from which
// come the curve and the level of the whole. (See Model.bend.)
//
// Texture that was matched badly looks like noise of low frequency. Where the spectrum is level
// towards the highest frequencies, the noise is white, and its level there is taken for all. So it
// is where noise is faint, where texture dominates, and where frames are copies of each other, if
// their texture is level there at all: else they count as clean.
//
// Grain of film, a codec's remainder of noise, and the noise of chroma lie below those frequencies,
// and vary from block to block. They show in three frames in a row: the middle one's differences
// from the one before and from the one after have its noise in common, and little of the motion. A
// [Triple] adds up these products, by frequency, over blocks that have little texture in the mean
// of the three. (See covariance.go.)
//
// A codec takes noise out of most blocks, so that the lowest cluster is of no use. The quantiser
// step, if the decoder knows it, and the middle of the energies determine the noise to add. (See
// coded.go.)
//
// The model of a frame comes from the pairs of frames in a window about it, and from the triples of
// a longer one before it: both are a fixed number of sums, which add up. It depends on these frames
// alone, in a fixed order, so the parts of a video may be measured apart. Frames beyond a cut and
// frames shown twice do not count. Choices are gradual: the strength of the filter must not jump.
//
// # Units
//
// Levels are 8-bit levels, for samples of any depth: sigma 1 in 10 bits is noise of 4 levels there.
// Spectra hold the variance of the coefficients of an orthonormal DCT of 8x8. The quantiser step is
// such a coefficient's, in 8-bit levels: 2^((QP-4)/6) in H.264 and HEVC, 3.2 times the quantiser
// scale's code in MPEG-2.
//
// # Limits
//
// White noise of sigma 3 to 30 is measured within 10 %, in chroma within 15 % at any spectrum. Of
// coarse grain in luma a match hides a part, which is made up for within 10 %, below sigma 3 within
// a fourth; in a picture alone it is not seen. Water that changes everywhere at random looks like
// grain. Pictures below 32x32 are not measured, and count as clean.
package noise
