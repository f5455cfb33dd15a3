package main

import (
	"fmt"
	"strings"

	"vidfilter/bench"
	"vidfilter/internal/text"
)

// columns are rows of text, the first of them the titles. They are printed as wide as they need, numbers to the right.
type columns struct {
	left int // columns that are text
	rows [][]string
}

func (c *columns) add(cells ...string) { c.rows = append(c.rows, cells) }

func (c *columns) String() string {
	widths := make([]int, len(c.rows[0]))
	for _, row := range c.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], text.Columns(cell))
		}
	}
	var b strings.Builder
	for _, row := range c.rows {
		var line strings.Builder
		for i, cell := range row {
			pad := text.PadLeft
			if i < c.left {
				pad = text.Pad
			}
			line.WriteString("  " + pad(cell, widths[i]))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

// ms writes milliseconds with three digits that count, where there is room for them.
func ms(x float64) string {
	switch {
	case x < 0.1:
		return fmt.Sprintf("%.4f", x)
	case x < 10:
		return fmt.Sprintf("%.3f", x)
	case x < 1000:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

func percent(share float64) string { return fmt.Sprintf("%.1f", 100*share) }

// spread writes how far times lie apart, as a percentage of their median; one time says nothing of it.
func spread(s bench.Stat) string {
	if s.N < 2 {
		return "-"
	}
	return percent(s.Spread())
}
