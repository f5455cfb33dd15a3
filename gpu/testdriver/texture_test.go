package testdriver

import (
	"encoding/binary"
	"math"
	"testing"
)

// textureDesc describes a texture object, in the order of CUDA_RESOURCE_DESC and
// CUDA_TEXTURE_DESC.
type textureDesc struct {
	kind, format, channels, filter, flags uint32
	address                               uint64
	size                                  int
}

const linear, floats = 2, 32 // CU_RESOURCE_TYPE_LINEAR, CU_AD_FORMAT_FLOAT

// texture makes a texture object and returns its handle, or the driver's error.
func (c *caller) texture(d textureDesc) (handle uint64, result int) {
	c.t.Helper()
	memory := make([]byte, 144)
	binary.LittleEndian.PutUint32(memory, d.kind)
	binary.LittleEndian.PutUint64(memory[8:], d.address)
	binary.LittleEndian.PutUint32(memory[16:], d.format)
	binary.LittleEndian.PutUint32(memory[20:], d.channels)
	binary.LittleEndian.PutUint64(memory[24:], uint64(d.size))
	desc := make([]byte, 104)
	binary.LittleEndian.PutUint32(desc[12:], d.filter)
	binary.LittleEndian.PutUint32(desc[16:], d.flags)
	at, memoryAt, descAt := c.alloc(8), c.alloc(len(memory)), c.alloc(len(desc))
	c.write(memoryAt, memory)
	c.write(descAt, desc)
	result = c.call("cuTexObjectCreate", at, memoryAt, descAt, 0)
	return binary.LittleEndian.Uint64(c.read(at, 8)), result
}

// floatTexture makes a texture object of n floats, 1, 2, 3, ..., and returns its description.
func (c *caller) floatTexture(n int) (handle uint64, d textureDesc) {
	c.t.Helper()
	words := make([]uint32, n)
	for i := range words {
		words[i] = math.Float32bits(float32(i + 1))
	}
	memory := c.get("cuMemAlloc_v2", 4*n+512)
	host := c.alloc(4 * n)
	c.write(host, bytesOf(words))
	d = textureDesc{kind: linear, format: floats, channels: 1, address: (memory + 511) &^ 511, size: 4 * n}
	c.must("cuMemcpyHtoD_v2", d.address, host, 4*n)
	handle, result := c.texture(d)
	if result != 0 {
		c.t.Fatalf("cuTexObjectCreate answers %d", result)
	}
	return handle, d
}

var reads = run{kernel: "texture", threads: 64, grid: [2]int{1, 1}, block: [2]int{32, 1}, count: -4}

// Texels are the memory's floats, and 0 outside.
func TestTexels(t *testing.T) {
	c := startAnywhere(t, "leaks=1")
	texture, _ := c.floatTexture(20)
	out := c.get("cuMemAlloc_v2", 128)
	if result := c.launch(c.function(reads), reads, texture, out, 0); result != 0 {
		t.Fatalf("answers %d", result)
	}
	for i, word := range c.fromDevice(out, 32) {
		want := float32(i - 3)
		if i < 4 || i >= 24 {
			want = 0
		}
		if got := math.Float32frombits(word); got != want {
			t.Errorf("texel %d: got %g, want %g", i-4, got, want)
		}
	}
	c.must("cuTexObjectDestroy", texture)
}

// Textures that a GPU refuses, and kinds that are not used here, are refused.
func TestTexturesRefused(t *testing.T) {
	c := start(t, "").open(0)
	texture, good := c.floatTexture(64)
	for _, m := range []struct {
		what   string
		change func(*textureDesc)
		result int
	}{
		{"address", func(d *textureDesc) { d.address += 256 }, 1},
		{"null", func(d *textureDesc) { d.address = 0 }, 1},
		{"size", func(d *textureDesc) { d.size += 512 }, 1},
		{"no texels", func(d *textureDesc) { d.size = 0 }, 1},
		{"array", func(d *textureDesc) { d.kind = 0 }, 801},
		{"bytes", func(d *textureDesc) { d.format = 1 }, 801},
		{"four channels", func(d *textureDesc) { d.channels = 4 }, 801},
		{"linear filter", func(d *textureDesc) { d.filter = 1 }, 801},
		{"normalized", func(d *textureDesc) { d.flags = 2 }, 801},
	} {
		d := good
		m.change(&d)
		if _, result := c.texture(d); result != m.result {
			t.Errorf("%s: answers %d, want %d", m.what, result, m.result)
		}
	}
	c.must("cuTexObjectDestroy", texture)
	c.want(1, "cuTexObjectDestroy", texture)
}

// A kernel fails if it reads a texture that was destroyed, or whose memory was freed.
func TestTexturesGone(t *testing.T) {
	for _, what := range []string{"destroyed", "freed"} {
		c := start(t, "").open(0)
		texture, d := c.floatTexture(64)
		out := c.get("cuMemAlloc_v2", 128)
		if what == "destroyed" {
			c.must("cuTexObjectDestroy", texture)
		} else {
			c.must("cuMemFree_v2", d.address-256)
		}
		c.launch(c.function(reads), reads, texture, out, 0)
		c.want(700, "cuCtxSynchronize")
		c.complained("reads " + map[bool]string{true: "the texture", false: "a texture of memory that was freed"}[what == "destroyed"])
	}
}

// A leaked texture is reported.
func TestTextureLeak(t *testing.T) {
	c := start(t, "leaks=1").open(0)
	c.floatTexture(64)
	c.must("cuDevicePrimaryCtxRelease_v2", 0)
	c.complained("leak: a texture")
}
