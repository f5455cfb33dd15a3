package batch

import (
	"bytes"
	_ "embed"
	"encoding/json"

	"github.com/spf13/pflag"

	"vidfilter/internal/text"
)

//go:embed schema.json
var schemaJSON []byte

// Schema returns the JSON Schema of job files, with the flags of the main job and the batch's own
// filled in.
func Schema(flags, own *pflag.FlagSet) []byte {
	var root map[string]any
	if err := json.Unmarshal(schemaJSON, &root); err != nil {
		panic("batch: schema.json: " + err.Error()) // it is part of the program
	}
	defs := root["$defs"].(map[string]any)
	defs["options"].(map[string]any)["properties"] = properties(flags)
	defs["batch"].(map[string]any)["properties"] = properties(own)
	var b bytes.Buffer
	if err := text.JSON(&b, root); err != nil {
		panic("batch: schema.json: " + err.Error())
	}
	return b.Bytes()
}

func properties(flags *pflag.FlagSet) map[string]any {
	all := map[string]any{}
	for _, f := range (flagTable{flags}).all() {
		all[f.Name] = property(f)
	}
	return all
}

func property(f *pflag.Flag) map[string]any {
	p := map[string]any{"description": f.Usage}
	if c, ok := f.Value.(interface{ Choices() []string }); ok && len(c.Choices()) > 0 {
		p["examples"] = c.Choices()
	}
	value := map[string]any{"$ref": "#/$defs/text"}
	switch {
	case isSwitch(f):
		p["type"] = "boolean"
	case repeats(f):
		p["anyOf"] = []any{value, map[string]any{"type": "array", "items": value}}
	default:
		p["$ref"] = "#/$defs/text"
	}
	return p
}
