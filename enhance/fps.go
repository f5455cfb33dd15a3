package enhance

import (
	"fmt"
	"math/big"
	"strings"

	"vidfilter/internal/hint"
	"vidfilter/pipeline"
)

// Rate is a value of --fps. The zero value leaves frames as they come.
type Rate pipeline.Ratio

const (
	rateHint = "give frames a second (25, 30000/1001, 23.976), or film (24), pal (25), ntsc (30000/1001)"
	mostRate = 1000
)

// namedRates are FFmpeg's.
var namedRates = map[string]Rate{
	"film": {24, 1}, "pal": {25, 1}, "ntsc": {30000, 1001}, "ntsc-film": {24000, 1001},
}

// ParseRate reads a number, a fraction or a name. Decimal numbers such as 29.97 stand for the rates
// of 1000/1001 that they round.
func ParseRate(s string) (Rate, error) {
	name := strings.ToLower(s)
	if r, ok := namedRates[name]; ok {
		return r, nil
	}
	x, ok := new(big.Rat).SetString(name)
	if !ok || len(s) > 32 || strings.ContainsAny(name, "ex_p") {
		return Rate{}, hint.Errorf(rateHint, "not a frame rate")
	}
	if x.Sign() <= 0 || x.Cmp(big.NewRat(mostRate, 1)) > 0 {
		return Rate{}, hint.Errorf(rateHint, "a frame rate is above 0 and at most %d", mostRate)
	}
	if strings.Contains(name, ".") {
		for _, whole := range []int64{24, 30, 48, 60, 120, 240} {
			exact := big.NewRat(whole*1000, 1001)
			off := new(big.Rat).Sub(x, exact)
			if off.Abs(off).Cmp(big.NewRat(6, 1000)) < 0 {
				x = exact
			}
		}
	}
	const most = 1 << 30
	if x.Num().Cmp(big.NewInt(most)) > 0 || x.Denom().Cmp(big.NewInt(most)) > 0 {
		return Rate{}, hint.Errorf(rateHint, "the fraction has too many digits")
	}
	return Rate{int(x.Num().Int64()), int(x.Denom().Int64())}, nil
}

// Graph repeats and drops frames, so that each is shown within half a frame of its time.
func (r Rate) Graph(Facts) (string, error) {
	if r == (Rate{}) {
		return "", nil
	}
	return fmt.Sprintf("fps=%d/%d", r.Num, r.Den), nil
}
