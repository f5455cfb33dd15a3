package denoise

// Share is the pilot's share at a luma noise of sigma.
func (b Blend) Share(sigma float64) float32 { return b.share(sigma) }
