package window

// #include "sdl.h"
import "C"

import (
	"vidfilter/live"
	"vidfilter/pipeline"
)

// picture is one of a pair's pictures as a texture.
type picture struct {
	texture *C.vf_texture
	made    textureKind
	of      *live.Pair // the pair in it; nil when it must be loaded
}

// textureKind is the purpose of a texture. SDL fixes the YUV conversion at creation, so another
// conversion needs another texture.
type textureKind struct {
	format        C.uint32_t
	width, height int
	yuv           C.int
}

func (p *picture) free() {
	if p.texture != nil {
		C.sdl_DestroyTexture(p.texture)
	}
	*p = picture{}
}

// prepare makes a texture of this kind, unless there is one.
func (p *picture) prepare(r *C.vf_renderer, k textureKind) error {
	C.sdl_SetYUVConversionMode(k.yuv)
	if p.texture != nil && p.made == k {
		return nil
	}
	p.free()
	p.texture = C.sdl_CreateTexture(r, k.format, C.VF_TEXTURE_STREAMING, C.int(k.width), C.int(k.height))
	if p.texture == nil {
		return sdlError(hintDriver, lastError(), "a picture of %dx%d cannot be shown in a window", k.width, k.height)
	}
	p.made = k
	C.sdl_SetTextureBlendMode(p.texture, 0) // alpha is not looked at
	return nil
}

// kindOf returns the texture for a frame, and whether the frame must be converted to RGBA.
func kindOf(f pipeline.Format) (k textureKind, convert bool) {
	k = textureKind{width: f.Width, height: f.Height}
	known := true
	switch {
	case f.Matrix == pipeline.BT601 && f.FullRange:
		k.yuv = C.VF_YUV_FULL_601
	case f.Matrix == pipeline.BT601:
		k.yuv = C.VF_YUV_601
	case f.Matrix == pipeline.BT709 && !f.FullRange:
		k.yuv = C.VF_YUV_709
	default:
		known = false
	}
	known = known && f.Width%2 == 0 && f.Height%2 == 0 // SDL's paths differ in the last column
	switch {
	case f.Layout == pipeline.RGBA:
		k.format, k.yuv = C.VF_RGBA, 0
	case f.Layout == pipeline.YUV420P && known:
		k.format = C.VF_IYUV
	case f.Layout == pipeline.NV12 && known && C.vf_sdl_has_nv() != 0:
		k.format = C.VF_NV12
	default:
		k.format, k.yuv, convert = C.VF_RGBA, 0, true
	}
	return k, convert
}

// load puts a frame into the picture. buffer is for conversions, and is returned, grown.
func (p *picture) load(r *C.vf_renderer, f *pipeline.Frame, buffer []byte) ([]byte, error) {
	k, convert := kindOf(f.Format)
	if convert {
		buffer = toRGBA(buffer, f)
		return buffer, p.loadRGBA(r, f.Width, f.Height, buffer, 4*f.Width)
	}
	if f.Layout == pipeline.RGBA {
		return buffer, p.loadRGBA(r, f.Width, f.Height, f.Planes[0].Data, f.Planes[0].Pitch)
	}
	if err := p.prepare(r, k); err != nil {
		return buffer, err
	}
	y, u, v := f.Planes[0], f.Planes[1], f.Planes[2]
	var bad C.int
	if f.Layout == pipeline.NV12 {
		bad = C.sdl_UpdateNVTexture(p.texture, nil, octets(y.Data), C.int(y.Pitch), octets(u.Data), C.int(u.Pitch))
	} else {
		bad = C.sdl_UpdateYUVTexture(p.texture, nil, octets(y.Data), C.int(y.Pitch), octets(u.Data), C.int(u.Pitch), octets(v.Data), C.int(v.Pitch))
	}
	return buffer, loaded(bad)
}

// loadRGBA puts pixels into the picture.
func (p *picture) loadRGBA(r *C.vf_renderer, width, height int, pixels []byte, pitch int) error {
	if err := p.prepare(r, textureKind{format: C.VF_RGBA, width: width, height: height}); err != nil {
		return err
	}
	return loaded(C.sdl_UpdateTexture(p.texture, nil, pointer(pixels), C.int(pitch)))
}

func loaded(bad C.int) error {
	if bad == 0 {
		return nil
	}
	return sdlError(hintDriver, lastError(), "a picture cannot be shown in a window")
}
