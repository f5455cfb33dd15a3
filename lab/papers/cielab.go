package papers

import "math"

// Colours become CIE-Lab as follows: RGB is read as sRGB (IEC 61966-2-1; video's own transfer
// curve is close enough), xyzFromRGB maps linear light to XYZ, each is divided by white, R =
// G = B (D65), and the CIE 1976 formula follows. L runs from 0 to 100; greys have a = b = 0.
var xyzFromRGB = [3][3]float64{
	{0.4124564, 0.3575761, 0.1804375},
	{0.2126729, 0.7151522, 0.0721750},
	{0.0193339, 0.1191920, 0.9503041},
}

// labTables returns the linear light of each coded level of 8 bits, 0 to 1, and xyzFromRGB with
// each row divided by its sum, so that white is 1, 1, 1.
func labTables() (linear [256]float64, xyz [3][3]float64) {
	for i := range linear {
		linear[i] = srgbDecode(float64(i) / 255)
	}
	for i, row := range xyzFromRGB {
		for j, x := range row {
			xyz[i][j] = x / (row[0] + row[1] + row[2])
		}
	}
	return linear, xyz
}

// cieLab converts linear light to L, a, b.
func cieLab(xyz *[3][3]float64, red, green, blue float64) [3]float64 {
	var f [3]float64
	for i, row := range xyz {
		f[i] = labCurve(row[0]*red + row[1]*green + row[2]*blue)
	}
	return [3]float64{116*f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])}
}

// srgbDecode converts a coded value to linear light, both 0 to 1.
func srgbDecode(c float64) float64 {
	if c <= 0.04045 {
		return c / 12.92
	}
	return math.Pow((c+0.055)/1.055, 2.4)
}

// labCurve is f of the CIE 1976 formula.
func labCurve(t float64) float64 {
	const delta = 6.0 / 29
	if t > delta*delta*delta {
		return math.Cbrt(t)
	}
	return t/(3*delta*delta) + 4.0/29
}
