module vidfilter

go 1.26.0

require (
	github.com/asticode/go-astiav v0.39.0
	github.com/rogpeppe/go-internal v1.16.0
	github.com/spf13/pflag v1.0.10
	golang.org/x/sys v0.49.0
	golang.org/x/term v0.47.0
)

require (
	github.com/asticode/go-astikit v0.42.0 // indirect
	golang.org/x/tools v0.26.0 // indirect
)
