package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"
)

// helpWidth is how wide --help may be.
const helpWidth = 80

// printHelp writes the help, made from the lists that the program itself goes by.
func printHelp(w io.Writer) error {
	_, err := io.WriteString(w, helpText())
	return err
}

func helpText() string {
	var b strings.Builder
	b.WriteString("usage: vidfilter -i IN -o OUT [options]    filter a video or a picture\n")
	for _, c := range commands() {
		if c.name == "help" || c.name == "version" { // which is this, and which is among the options
			continue
		}
		fmt.Fprintf(&b, "       %-36s%s\n", strings.TrimSpace("vidfilter "+c.name+" "+c.args), c.text)
	}
	fs := defaultOptions().flags()
	for _, g := range groups {
		fmt.Fprintf(&b, "%s:\n%s", g, groupHelp(fs, g))
	}
	b.WriteString(wrap("Environment: VIDFILTER_CRF=20, VIDFILTER_NO_AUDIO=1 ...; the command line wins."))
	b.WriteString(wrap("Exit codes: " + exitHelp()))
	b.WriteString(`Examples:
  vidfilter -i in.mp4 -o out.mp4 -r 1
  cat in.ts | vidfilter -i - -o - --format mkv | mpv -
`)
	return b.String()
}

func groupHelp(fs *pflag.FlagSet, group string) string {
	var b strings.Builder
	fs.VisitAll(func(f *pflag.Flag) {
		if f.Annotations[groupKey][0] == group {
			fmt.Fprintf(&b, "  %-23s %s\n", flagHelp(f), f.Usage)
		}
	})
	return b.String()
}

// flagHelp is the left column: -r, --radius N.
func flagHelp(f *pflag.Flag) string {
	s := "--" + f.Name
	if f.Shorthand != "" {
		s = "-" + f.Shorthand + ", " + s
	}
	if f.Value.Type() != "bool" {
		s += " " + f.Value.Type()
	}
	return s
}

func exitHelp() string {
	texts := make([]string, len(exitTexts))
	for i, e := range exitTexts {
		texts[i] = fmt.Sprintf("%d %s", e.code, e.text)
	}
	return strings.Join(texts, ", ") + "."
}

// wrap breaks text into lines of at most helpWidth columns, wrapTo of at most width.
func wrap(s string) string { return wrapTo(s, helpWidth) }

func wrapTo(s string, width int) string {
	var b strings.Builder
	col := 0
	for word := range strings.FieldsSeq(s) {
		switch {
		case col == 0:
		case col+1+len(word) > width:
			b.WriteByte('\n')
			col = 0
		default:
			b.WriteByte(' ')
			col++
		}
		b.WriteString(word)
		col += len(word)
	}
	return b.String() + "\n"
}
