package noise

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// profileVersion is the version of the format. A reader takes no other.
const profileVersion = 1

// profile is a model as JSON.
type profile struct {
	Version int      `json:"vidfilter_noise"`
	Sure    *float64 `json:"sure"`
	profileModel
}

type profileModel struct {
	Planes []profilePlane `json:"planes"` // Y, or Y, U and V
	Curve  [][]float64    `json:"luma_variance_by_brightness"`
	Half   *profileHalf   `json:"half_size"`
}

type profileHalf struct {
	Share []float64 `json:"share"` // of Y, U and V
	profileModel
}

type profilePlane struct {
	Sigma    float64     `json:"sigma"`
	Spectrum [][]float64 `json:"spectrum"`
}

const curveRow = 16 // factors a line

// Profile returns a model as JSON, which [ParseProfile] reads: sigma and the variance of the 8x8
// coefficients of each plane in 8-bit levels, horizontal frequencies in rows and vertical ones
// below each other, and the 256 factors of luma's variance by brightness, to five digits; then the
// same of half the size, if noise is removed there.
func (m Model) Profile() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "{\n  \"vidfilter_noise\": %d,\n  \"sure\": %s,\n", profileVersion, digits(m.Sure))
	m.profile(&b, "  ")
	b.WriteString("\n}\n")
	return []byte(b.String())
}

// profile writes the part that all sizes share.
func (m *Model) profile(b *strings.Builder, indent string) {
	fmt.Fprintf(b, "%s\"planes\": [", indent)
	for c, sigma := range m.Sigma {
		if c > 0 && m.Sigma[1] == 0 && m.Sigma[2] == 0 {
			break // of luma alone
		}
		if c > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(b, "\n%[1]s  {\n%[1]s    \"sigma\": %[2]s,\n%[1]s    \"spectrum\": [", indent, digits(sigma))
		rows(b, m.Spectrum[c][:], 8, indent+"      ")
		fmt.Fprintf(b, "\n%[1]s    ]\n%[1]s  }", indent)
	}
	fmt.Fprintf(b, "\n%[1]s],\n%[1]s\"luma_variance_by_brightness\": [", indent)
	rows(b, m.Curve[:], curveRow, indent+"  ")
	fmt.Fprintf(b, "\n%s]", indent)
	if h := m.Half; h != nil {
		fmt.Fprintf(b, ",\n%[1]s\"half_size\": {\n%[1]s  \"share\": [%s, %s, %s],\n", indent,
			digits(h.Share[0]), digits(h.Share[1]), digits(h.Share[2]))
		h.profile(b, indent+"  ")
		fmt.Fprintf(b, "\n%s}", indent)
	}
}

func rows(b *strings.Builder, all []float32, n int, indent string) {
	for i := 0; i < len(all); i += n {
		var row []string
		for _, v := range all[i : i+n] {
			row = append(row, digits(float64(v)))
		}
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(b, "\n%s[%s]", indent, strings.Join(row, ", "))
	}
}

func digits(v float64) string { return strconv.FormatFloat(v, 'g', 5, 64) }

// ParseProfile reads a noise profile. A model of luma alone has no noise in chroma, which the
// filter then leaves as it is. It is strict: an error gives the fault.
func ParseProfile(data []byte) (m Model, err error) {
	var p profile
	var of struct {
		Version *int `json:"vidfilter_noise"`
	}
	switch err := json.Unmarshal(data, &of); {
	case err != nil:
		return m, fmt.Errorf("not a noise profile: %w", err)
	case of.Version == nil:
		return m, errors.New(`not a noise profile: "vidfilter_noise" is missing`)
	case *of.Version != profileVersion:
		return m, fmt.Errorf("a noise profile of version %d: this program reads version %d", *of.Version, profileVersion)
	}
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return m, fmt.Errorf("noise profile: %w", err)
	}
	if p.Sure == nil || !within(*p.Sure, 0, 1) {
		return m, errors.New(`noise profile: "sure" must be 0 to 1`)
	}
	m.Sure = *p.Sure
	if err := p.into(&m, coarseLevels); err != nil {
		return m, fmt.Errorf("noise profile: %w", err)
	}
	return m, nil
}

// into fills a model, with at most sizes smaller sizes.
func (p *profileModel) into(m *Model, sizes int) error {
	if n := len(p.Planes); n != 1 && n != len(m.Sigma) {
		return fmt.Errorf("%d planes instead of 1 or 3", n)
	}
	for c, plane := range p.Planes {
		if !within(plane.Sigma, 0, mostSigma) {
			return fmt.Errorf("the sigma of plane %d must be 0 to %d", c, mostSigma)
		}
		m.Sigma[c] = plane.Sigma
		if err := fill(m.Spectrum[c][:], plane.Spectrum, 8, 64*mostSigma*mostSigma); err != nil {
			return fmt.Errorf("the spectrum of plane %d: %w", c, err)
		}
	}
	if err := fill(m.Curve[:], p.Curve, curveRow, 100); err != nil {
		return fmt.Errorf("the variance by brightness: %w", err)
	}
	if p.Half == nil {
		return nil
	}
	if sizes == 0 {
		return fmt.Errorf("more than %d smaller sizes", coarseLevels)
	}
	h := &Half{}
	if len(p.Half.Share) != len(h.Share) {
		return fmt.Errorf("half size: %d shares instead of %d", len(p.Half.Share), len(h.Share))
	}
	for c, share := range p.Half.Share {
		if !within(share, 0, 1) {
			return fmt.Errorf("half size: the share of plane %d must be 0 to 1", c)
		}
		h.Share[c] = share
	}
	if err := p.Half.into(&h.Model, sizes-1); err != nil {
		return fmt.Errorf("half size: %w", err)
	}
	m.Half = h
	return nil
}

const mostSigma = 128

// fill reads rows of n numbers.
func fill(out []float32, in [][]float64, n int, most float64) error {
	if len(in) != len(out)/n {
		return fmt.Errorf("%d rows instead of %d", len(in), len(out)/n)
	}
	for y, row := range in {
		if len(row) != n {
			return fmt.Errorf("row %d has %d numbers instead of %d", y+1, len(row), n)
		}
		for x, v := range row {
			if !within(v, 0, most) {
				return fmt.Errorf("%g in row %d must be 0 to %g", v, y+1, most)
			}
			out[y*n+x] = float32(v)
		}
	}
	return nil
}

func within(v, least, most float64) bool { return v >= least && v <= most }
