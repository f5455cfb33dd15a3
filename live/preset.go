package live

// Preset is a choice of the filter's strength by one word.
type Preset struct {
	Name   string         `json:"name"`
	Filter map[string]any `json:"filter"` // for Filter.Apply
}

// Presets lists them, weakest first.
func Presets() []Preset {
	denoise := func(strength float64) map[string]any {
		return map[string]any{"off": false, "filter": "denoise", "strength": strength}
	}
	return []Preset{
		{"off", map[string]any{"off": true}},
		{"light", denoise(0.7)},
		{"normal", denoise(1)},
		{"strong", denoise(1.5)},
	}
}
