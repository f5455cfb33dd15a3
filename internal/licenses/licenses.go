// Package licenses has the licences of everything that is linked into the program.
package licenses

import _ "embed"

// Text is a table of the components with their licences, then the licences. Package gather writes
// it.
//
//go:embed licenses.txt
var Text string
