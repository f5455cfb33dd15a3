// Package denoise removes noise from video: a frame is averaged with its neighbours in time where
// they match, and the remaining noise is shrunk in space.
//
// [Reference] is the definition, in plain Go. denoise/motion finds the matches, denoise/fusion
// averages and shrinks, denoise/noise measures the noise. The forms for the CPU and the GPU agree
// with it within 1 level in 99.9 % of samples and never differ by more than 2; vectors agree
// exactly.
//
// A frame depends on the frames before and after it in [Settings.Window], and on the model of the
// noise, which is measured on [noise.Before] frames before it and three after; nothing is carried
// from frame to frame.
//
// docs/denoise.md defines the method; [Default] holds its constants.
package denoise
