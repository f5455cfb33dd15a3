package sandbox

// Raw sends text to the parent as it is.
func (b *Box) Raw(text string) { _, _ = b.line.WriteString(text) }
