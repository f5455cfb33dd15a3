package units

// Arrangements of two views in a picture (ISO 23008-2, table D.8).
const (
	SideBySide = 3
	TopBottom  = 4
)

// Packing returns the payload of FramePacking: how two views are arranged, whether their samples
// lie as in a quincunx, and whether the right one comes first. It holds until the next one.
func Packing(arrangement int, quincunx, rightFirst bool) []byte {
	flag := map[bool]uint32{true: 1}
	w := writer{}
	w.ue(0)      // frame_packing_arrangement_id
	w.bits(0, 1) // not cancelled
	w.bits(uint32(arrangement), 7)
	w.bits(flag[quincunx], 1)
	w.bits(1+flag[rightFirst], 6) // content_interpretation_type
	w.bits(0, 6)                  // flipping, fields, frame 0, self-contained views
	if !quincunx {
		w.bits(0, 16) // positions of the grids
	}
	w.bits(0, 8)
	w.bits(1, 1) // persistence_flag
	w.bits(0, 1) // upsampled_aspect_ratio_flag
	return w.end()
}
