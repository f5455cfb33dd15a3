package encode

// rawVideo stores samples as they are.
var rawVideo = Codec{Name: "rawvideo", CRF: -1, copies: true}
