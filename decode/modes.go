package decode

//#include "v4l2.h"
import "C"

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"

	"github.com/asticode/go-astiav"
)

// CameraMode is a mode of a camera.
type CameraMode struct {
	Format        string // FFmpeg's name: yuyv422, nv12, mjpeg, h264
	Width, Height int
	FPS           float64 // 0 if the driver does not report it

	format cameraFormat
	rate   [2]int // FPS as a fraction
}

func (m CameraMode) String() string {
	if m.FPS == 0 {
		return fmt.Sprintf("%s %dx%d", m.Format, m.Width, m.Height)
	}
	return fmt.Sprintf("%s %dx%d at %s fps", m.Format, m.Width, m.Height, fps(m.FPS))
}

func fps(f float64) string { return fmt.Sprintf("%.4g", f) }

// cameraFormat is a format that FFmpeg takes from a camera and this build decodes.
type cameraFormat struct {
	fourcc uint32
	name   string
	kind   streamKind
	rank   int // lower is better, at the same size and rate
}

// Ranks of formats. Raw pictures have no delay and no coding artefacts: first the formats without a
// conversion, then the formats that are cheap to decode. Formats without colour are a last
// resort, however large.
const (
	rankPlain = iota
	rankConverted
	rankRGB
	rankMJPEG
	rankH264
	rankOther
	rankGray
)

var rawKind = streamKind{astiav.CodecIDRawvideo, true, nil, nil}

var cameraFormats = []cameraFormat{
	{C.V4L2_PIX_FMT_NV12, "nv12", rawKind, rankPlain},
	{C.V4L2_PIX_FMT_YUV420, "yuv420p", rawKind, rankPlain},
	{C.V4L2_PIX_FMT_YVU420, "yuv420p", rawKind, rankPlain},
	{C.V4L2_PIX_FMT_YUV422P, "yuv422p", rawKind, rankPlain},
	{C.V4L2_PIX_FMT_YUYV, "yuyv422", rawKind, rankConverted},
	{C.V4L2_PIX_FMT_UYVY, "uyvy422", rawKind, rankConverted},
	{C.V4L2_PIX_FMT_NV16, "nv16", rawKind, rankConverted},
	{C.V4L2_PIX_FMT_RGB24, "rgb24", rawKind, rankRGB},
	{C.V4L2_PIX_FMT_BGR24, "bgr24", rawKind, rankRGB},
	{C.V4L2_PIX_FMT_XBGR32, "bgr0", rawKind, rankRGB},
	{C.V4L2_PIX_FMT_BGR32, "bgr0", rawKind, rankRGB},
	{C.V4L2_PIX_FMT_RGB565, "rgb565le", rawKind, rankRGB},
	{C.V4L2_PIX_FMT_MJPEG, "mjpeg", streamKinds["jpeg"], rankMJPEG},
	{C.V4L2_PIX_FMT_JPEG, "mjpeg", streamKinds["jpeg"], rankMJPEG},
	{C.V4L2_PIX_FMT_H264, "h264", streamKinds["h264"], rankH264},
	{C.V4L2_PIX_FMT_MPEG4, "mpeg4", streamKind{astiav.CodecIDMpeg4, false, nil, nil}, rankOther},
	{C.V4L2_PIX_FMT_GREY, "gray", rawKind, rankGray},
	{C.V4L2_PIX_FMT_Y16, "gray16le", rawKind, rankGray},
}

func formatOf(fourcc uint32) (cameraFormat, bool) {
	i := slices.IndexFunc(cameraFormats, func(f cameraFormat) bool { return f.fourcc == fourcc })
	if i < 0 {
		return cameraFormat{}, false
	}
	return cameraFormats[i], true
}

// called reports whether a name means the format, by FFmpeg or by the camera.
func (f cameraFormat) called(name string) bool {
	code := string(binary.LittleEndian.AppendUint32(nil, f.fourcc))
	return strings.EqualFold(name, f.name) || strings.EqualFold(name, strings.TrimSpace(code))
}

// Values to try in ranges, beside their ends.
var (
	usualSizes = [][2]int{{640, 480}, {1280, 720}, {1920, 1080}}
	usualRates = []float64{60, 30, 25, 15}
)

const (
	usualWidth, usualHeight = 1920, 1080 // no larger unless asked for
	smoothRate              = 24.5       // motion looks smooth from here: 25, and NTSC's 30
	usualRate               = 31         // more makes pictures darker, and costs more
)

// CameraOptions are options of OpenCamera. The zero value chooses the camera's best mode: the
// largest size up to 1920x1080 at 25 or more pictures a second, raw if possible, else MJPEG, else
// H.264; if none is as fast, the best product of size and rate.
type CameraOptions struct {
	Width, Height int     // 0 for any
	FPS           float64 // 0 for any
	Format        string  // by FFmpeg's or the camera's name; "" for any
	MaxPixels     int64   // larger pictures are errors; 0 means no limit
	Threads       int     // of a decoder, 0 for one per core

	Log *slog.Logger // warnings for the user, a sentence at a time; nil drops them
}

func (o CameraOptions) accepts(m CameraMode) bool {
	const alike = 0.01 // 29.97 is 30
	return (o.Width == 0 || o.Width == m.Width) && (o.Height == 0 || o.Height == m.Height) &&
		(o.FPS == 0 || m.FPS == 0 || math.Abs(o.FPS-m.FPS) <= alike*o.FPS) &&
		(o.Format == "" || m.format.called(o.Format)) &&
		(o.MaxPixels <= 0 || int64(m.Width)*int64(m.Height) <= o.MaxPixels)
}

// choose returns the best mode that the options accept; ok is false without one.
func choose(all []CameraMode, o CameraOptions) (best CameraMode, ok bool) {
	for _, m := range all {
		if o.accepts(m) && (!ok || o.better(m, best)) {
			best, ok = m, true
		}
	}
	return best, ok
}

func (o CameraOptions) better(a, b CameraMode) bool {
	x, y := o.merits(a), o.merits(b)
	return slices.CompareFunc(x[:], y[:], cmp.Compare[float64]) > 0
}

// merits returns numbers to compare modes by, the most important first.
func (o CameraOptions) merits(m CameraMode) [6]float64 {
	rate := m.FPS
	if rate == 0 {
		rate = 30 // most drivers that do not report a rate have this one
	}
	area := float64(m.Width) * float64(m.Height)
	usual := o.Width > 0 || o.Height > 0 || m.Width <= usualWidth && m.Height <= usualHeight
	smooth := rate >= smoothRate
	size := area
	switch {
	case !smooth:
		size *= rate * rate // small pictures at full rate beat large ones at a low rate
	case !usual:
		size = -area
	}
	even := rate
	if rate > usualRate && o.FPS == 0 {
		even = -rate
	}
	return [6]float64{truth(m.format.rank < rankGray), truth(smooth), truth(usual), size, -float64(m.format.rank), even}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// offers describes modes: the rates of a format and size together.
func offers(all []CameraMode) string {
	var parts []string
	for i := 0; i < len(all); {
		m := all[i]
		var rates []string
		for ; i < len(all) && all[i].Format == m.Format && all[i].Width == m.Width && all[i].Height == m.Height; i++ {
			if all[i].FPS > 0 {
				rates = append(rates, fps(all[i].FPS))
			}
		}
		part := fmt.Sprintf("%s %dx%d", m.Format, m.Width, m.Height)
		if len(rates) > 0 {
			part += " at " + strings.Join(rates, ", ") + " fps"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}
