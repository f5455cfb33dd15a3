package encode

// RawVideo is FFmpeg's name of the encoder that stores samples as they are.
const RawVideo = "rawvideo"

var rawVideo = Codec{Name: RawVideo, CRF: -1}
