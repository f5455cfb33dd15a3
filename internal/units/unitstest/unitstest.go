// Package unitstest makes valid units of each kind, for tests.
package unitstest

import (
	"encoding/binary"
	"math/bits"

	"vidfilter/internal/units"
)

// All returns a unit of each kind, as of the nth picture of a video. Dolby Vision is of profile 8.
func All(n int) []units.Unit {
	return []units.Unit{
		{Kind: units.MasteringDisplay, Payload: Mastering()},
		{Kind: units.ContentLight, Payload: []byte{1000 >> 8, 1000 & 255, 400 >> 8, 400 & 255}},
		{Kind: units.HDR10Plus, Payload: HDR10Plus(n)},
		{Kind: units.HDRVivid, Payload: HDRVivid(n)},
		{Kind: units.Captions, Payload: Captions(n)},
		{Kind: units.AFD, Payload: units.ActiveFormat(byte(8 + n%4))},
		{Kind: units.AlternativeTransfer, Payload: []byte{18}},
		{Kind: units.AmbientViewing, Payload: []byte{0, 0, 0x7a, 0x12, 0x3d, 0x13, 0x40, 0x42}}, // 3.125 lx
		{Kind: units.Timecode, Payload: Timecode(n)},
		{Kind: units.FilmGrain, Payload: FilmGrain(n)},
		{Kind: units.FramePacking, Payload: units.Packing(units.TopBottom, false, true)},
		{Kind: units.DolbyVision, Payload: RPU(8, n)},
	}
}

type writer struct {
	b  []byte
	at int
}

func (w *writer) bits(n int, values ...uint64) {
	for _, v := range values {
		for i := n - 1; i >= 0; i-- {
			if w.at%8 == 0 {
				w.b = append(w.b, 0)
			}
			w.b[w.at/8] |= byte(v>>i&1) << (7 - w.at%8)
			w.at++
		}
	}
}

// ue writes Exp-Golomb numbers.
func (w *writer) ue(values ...uint64) {
	for _, v := range values {
		w.bits(2*bits.Len64(v+1)-1, v+1)
	}
}

func (w *writer) align() { w.at = 8 * len(w.b) }

// Mastering is DCI-P3 in D65, from 0.005 to 1000 cd/m².
func Mastering() []byte {
	w := writer{}
	w.bits(16, 13250, 34500, 7500, 3000, 34000, 16000, 15635, 16450)
	w.bits(32, 10000000, 50)
	return w.b
}

// HDR10Plus is a message of SMPTE ST 2094-40 with one window, whose average brightness is n.
func HDR10Plus(n int) []byte {
	w := writer{}
	w.bits(8, 1)          // application_version
	w.bits(2, 1)          // num_windows
	w.bits(27, 400)       // targeted_system_display_maximum_luminance
	w.bits(1, 0)          // its actual peak
	w.bits(17, 7, 8, 9)   // maxscl
	w.bits(17, uint64(n)) // average_maxrgb
	w.bits(4, 1)          // num_distribution_maxrgb_percentiles
	w.bits(7, 50)         // percentage
	w.bits(17, uint64(n)) // percentile
	w.bits(10, 3)         // fraction_bright_pixels
	w.bits(1, 0, 0, 0)    // mastering display's peak, tone mapping, saturation
	return units.DynamicHDR(w.b)
}

// HDRVivid is a message of CUVA 005.1 in which the average brightness is n.
func HDRVivid(n int) []byte {
	w := writer{}
	w.bits(8, 0x26)
	w.bits(16, 4, 5)
	w.bits(8, 1)                           // system_start_code
	w.bits(12, 1, uint64(n)&4095, 2, 4000) // of maximum RGB: minimum, average, variance, maximum
	w.bits(1, 0, 0)                        // tone mapping, saturation
	return w.b
}

// Captions are two pairs of bytes of CEA-608.
func Captions(n int) []byte {
	return units.ClosedCaptions([]byte{0xfc, 0x94, 0x20, 0xfc, 0x80 | byte(n%64), 0x80})[0]
}

// Timecode is 10:20:30 and n frames.
func Timecode(n int) []byte {
	return units.TimeCode([]uint32{uint32(n%30/10)<<28 | uint32(n%10)<<24 | 0x302010}, 25, 1)
}

// FilmGrain describes grain of luma whose scale is n.
func FilmGrain(n int) []byte {
	w := writer{}
	w.bits(1, 0) // not cancelled
	w.bits(2, 0) // a filter of frequencies
	w.bits(1, 0) // colours are the video's
	w.bits(2, 0) // blended by adding
	w.bits(4, 5) // log2_scale_factor
	w.bits(3, 4) // luma alone
	w.bits(8, 0) // one interval
	w.bits(3, 0) // one value
	w.bits(8, 0, 255)
	w.ue(uint64(2*(n%100) + 1))
	w.bits(1, 0) // for this picture
	if w.at%8 > 0 {
		w.bits(1, 1)
	}
	return w.b
}

// RPU is metadata of Dolby Vision for a picture whose average brightness is n, of profile 5, 7 or
// 8: an identity mapping, and the levels of brightness (ETSI TS 103 572).
func RPU(profile, n int) []byte {
	w := writer{}
	header(&w, profile)
	mapping(&w, profile == 7)
	brightness(&w, n)
	w.align()
	w.b = binary.BigEndian.AppendUint32(w.b, crc(w.b))
	return append(append([]byte{25}, w.b...), 0x80)
}

func header(w *writer, profile int) {
	ofProfile := func(p int) uint64 {
		if p == profile {
			return 1
		}
		return 0
	}
	w.bits(6, 2)              // rpu_type
	w.bits(11, 18)            // rpu_format
	w.bits(4, 1-ofProfile(5)) // vdr_rpu_profile
	w.bits(4, 0)              // vdr_rpu_level
	w.bits(1, 1, 0)           // vdr_seq_info_present_flag, chroma_resampling_explicit_filter_flag
	w.bits(2, 0)              // coefficient_data_type
	w.ue(23)                  // coefficient_log2_denom
	w.bits(2, 1)              // vdr_rpu_normalized_idc
	w.bits(1, ofProfile(5))   // BL_video_full_range_flag
	w.ue(2, 2, 4)             // bits beyond 8: base layer, enhancement layer, result
	w.bits(1, 0)              // spatial_resampling_filter_flag
	w.bits(3, 0)              // compression of metadata
	w.bits(1, ofProfile(7))   // el_spatial_resampling_filter_flag
	w.bits(1, 1-ofProfile(7)) // disable_residual_flag
	w.bits(1, 1, 0)           // vdr_dm_metadata_present_flag, use_prev_vdr_rpu_flag
}

func mapping(w *writer, residual bool) {
	w.ue(0, 0, 0) // vdr_rpu_id, mapping_color_space, mapping_chroma_format_idc
	for range 3 {
		w.ue(0) // two pivots
		w.bits(10, 0, 1023)
	}
	if residual {
		w.bits(3, 0)        // NLQ_LINEAR_DZ
		w.bits(10, 0, 1023) // its pivots
	}
	w.ue(0, 0) // one partition
	for range 3 {
		w.ue(0, 0)   // polynomial, of first order
		w.bits(1, 0) // not by linear interpolation
		w.ue(0)      // 0
		w.bits(23, 0)
		w.ue(1) // 1
		w.bits(23, 0)
	}
	for range 3 {
		if residual {
			w.bits(10, 512) // nlq_offset
			for range 3 {   // vdr_in_max, slope, threshold
				w.ue(1)
				w.bits(23, 0)
			}
		}
	}
}

func brightness(w *writer, n int) {
	w.ue(0, 0, 0)                                            // affected_dm_id, current_dm_id, scene_refresh_flag
	w.bits(16, 9574, 0, 13802, 9574, 65536-1540, 65536-5348) // from YCbCr to RGB
	w.bits(16, 9574, 17610, 0)
	w.bits(32, 16777216, 134217728, 134217728)
	w.bits(16, 7222, 8771, 390, 2654, 12430, 1300, 0, 422, 15962) // from RGB to LMS
	w.bits(16, 65535, 0, 0)                                       // signal_eotf and parameters
	w.bits(32, 0)
	w.bits(5, 12)                  // signal_bit_depth
	w.bits(2, 0, 0, 1)             // colour space, chroma format, range
	w.bits(12, 7, 3079)            // from 0.005 to 1000 cd/m²
	w.bits(10, 42)                 // diagonal
	w.ue(1)                        // one block
	w.align()                      //
	w.ue(5)                        // of 5 bytes
	w.bits(8, 1)                   // of level 1
	w.bits(12, 7, 3079, uint64(n)) // minimum, maximum, average
	w.bits(4, 0)
}

// crc is MPEG-2's.
func crc(b []byte) uint32 {
	c := ^uint32(0)
	for _, x := range b {
		c ^= uint32(x) << 24
		for range 8 {
			c = c<<1 ^ 0x04c11db7&-(c>>31)
		}
	}
	return c
}
