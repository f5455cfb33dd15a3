package sandbox

// Raw says something to the parent, in its own words.
func (b *Box) Raw(text string) { _, _ = b.line.WriteString(text) }
