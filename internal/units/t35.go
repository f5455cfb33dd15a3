package units

import "bytes"

var registered = []struct {
	kind  MetadataKind
	start string
}{
	{HDR10Plus, "\xb5\x00\x3c\x00\x01\x04"},
	{HDRVivid, "\x26\x00\x04\x00\x05"},
	{Captions, "\xb5\x00\x31GA94\x03"},
	{AFD, "\xb5\x00\x31DTG1"},
}

// ofT35 names user data that is registered by ITU-T T.35; 0 for any other.
func ofT35(b []byte) MetadataKind {
	for _, r := range registered {
		if bytes.HasPrefix(b, []byte(r.start)) {
			return r.kind
		}
	}
	return 0
}

// registeredData returns user data of a kind.
func registeredData(k MetadataKind, b ...byte) []byte {
	for _, r := range registered {
		if r.kind == k {
			return append([]byte(r.start), b...)
		}
	}
	return nil
}

// DynamicHDR returns the payload of HDR10Plus from its application_version on.
func DynamicHDR(b []byte) []byte { return registeredData(HDR10Plus, b...) }

// DynamicHDROf is the inverse of DynamicHDR.
func DynamicHDROf(payload []byte) []byte {
	return payload[min(len(registeredData(HDR10Plus)), len(payload)):]
}

// ClosedCaptions returns the payloads of Captions for cc_data of ATSC A/53: groups of three bytes,
// at most 31 in each.
func ClosedCaptions(data []byte) (list [][]byte) {
	const group, most, processCC, marker = 3, 31, 0x40, 0xff
	for len(data) >= group {
		n := min(len(data)/group, most)
		b := append([]byte{processCC | byte(n), marker}, data[:group*n]...)
		list = append(list, registeredData(Captions, append(b, marker)...))
		data = data[group*n:]
	}
	return list
}

// ActiveFormat returns the payload of AFD for an active_format (ETSI TS 101 154, annex B).
func ActiveFormat(format byte) []byte {
	const given, reserved = 0x41, 0xf0
	return registeredData(AFD, given, reserved|format&15)
}
