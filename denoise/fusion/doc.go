// Package fusion makes of a patch and its matches in the neighbouring frames one patch with less
// noise. It is the definition of the denoiser's two passes: other forms of it may round
// differently in the transforms, and agree within a level.
//
// A plane is covered with overlapping patches. Of each, and of the patch that its vector leads to
// in each neighbour, the DCT is taken. For each frequency the frames are averaged with weights that
// fall where they differ by more than the noise does. The remaining noise is then shrunk in the
// same DCT, and the overlapping results are averaged in turn. [First] judges by the noisy patches
// themselves, in patches of 8x8; [Second] by the pilot, the result of the first, in patches of
// 16x16.
//
// Arithmetic is in float32, in 8-bit levels at any depth of the samples. Sums are in the order of
// the index, those over frames with the frame itself first and then the neighbours in the order
// given. A neighbour's patch that would leave the plane is moved back inside. Overlapping patches
// are added up in integers (see [Sums]), so that it does not matter which is finished first.
//
// Variances are of the coefficients of an orthonormal DCT: white noise of sigma has sigma² in
// each.
//
// The method is under "First pass", "Second pass" and "Tiers" in docs/denoise.md.
package fusion
