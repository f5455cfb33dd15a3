// Package noise measures the noise of a video.
package noise
