package encode

// ffv1 is lossless: it has neither presets nor a quality.
var ffv1 = Codec{Name: "ffv1", CRF: -1}
