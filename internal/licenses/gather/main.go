// Gather writes ../licenses.txt from the licence files of the Go modules that cmd/vidfilter links
// and of the C libraries of scripts/ffmpeg.sh. With -check it compares instead.
package main

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
)

const head = `The licences of vidfilter and of all that is linked into it.

vidfilter's own source is under the MIT licence. The program is linked with
FFmpeg (configured with --enable-gpl), x264 and x265, which are under the GNU
General Public License, version 2 or any later version. It is also linked with
modules under the Apache License 2.0, which is compatible with version 3 of
that licence only. The program as a whole is therefore under the GNU General
Public License, version 3: whoever passes it on must offer the source of all
its parts. scripts/ffmpeg.sh lists the C libraries with versions and checksums
(those without a version come from Debian), and go.mod and go.sum list the Go
modules. glibc and NVIDIA's driver are not in the program: the system has them.

`

// component is a part of the program. Its licence texts are files, or members of archives in the
// cache of scripts/ffmpeg.sh.
type component struct {
	name, version, license string
	texts                  []string
	archives               []string // patterns of a library's files
}

// Every Debian system has these.
const common = "/usr/share/common-licenses/"

// libraries are the C libraries; $NAME stands for a version in scripts/ffmpeg.sh.
var libraries = []component{
	{"FFmpeg", "$ffmpeg", "GPL-2.0-or-later", []string{"ffmpeg-$ffmpeg.tar.xz:LICENSE.md", common + "GPL-2", common + "LGPL-2.1"}, []string{"libav*.a", "libsw*.a"}},
	{"x264", "", "GPL-2.0-or-later", []string{common + "GPL-2"}, []string{"libx264.a"}},
	{"x265", "", "GPL-2.0-or-later", []string{common + "GPL-2"}, []string{"libx265.a"}},
	{"dav1d", "$dav1d", "BSD-2-Clause", []string{"dav1d-$dav1d.tar.xz:COPYING"}, []string{"libdav1d.a"}},
	{"SVT-AV1", "$svtav1", "BSD-3-Clause-Clear and a patent licence", []string{
		"svt-av1-$svtav1.tar.xz:LICENSE.md", "svt-av1-$svtav1.tar.xz:PATENTS.md", "svt-av1-$svtav1.tar.xz:LICENSE-BSD2.md",
		"svt-av1-$svtav1.tar.xz:third_party/cpuinfo/LICENSE", "svt-av1-$svtav1.tar.xz:third_party/fastfeat/LICENSE",
		"svt-av1-$svtav1.tar.xz:third_party/safestringlib/LICENSE"}, []string{"libSvtAv1Enc.a"}},
	{"nv-codec-headers", "$nvcodec", "MIT", []string{"nv-codec-headers-$nvcodec.tar.xz:include/ffnvcodec/nvEncodeAPI.h"}, nil},
	{"Opus", "", "BSD-3-Clause", []string{"notices/opus.txt"}, []string{"libopus.a"}},
	{"zimg", "", "WTFPL", []string{"notices/zimg.txt"}, []string{"libzimg.a"}},
	{"zlib", "", "Zlib", []string{"notices/zlib.txt"}, []string{"libz.a"}},
	{"libnuma", "", "LGPL-2.1", []string{common + "LGPL-2.1"}, []string{"libnuma.a"}},
	{"libstdc++ and libgcc", "", "GPL-3.0-or-later with GCC-exception-3.1", []string{"notices/gcc.txt", common + "GPL-3"}, []string{"libstdc++.a"}},
}

func main() {
	check := flag.Bool("check", false, "compare licenses.txt with its sources")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "gather:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	mod, err := output("go", "env", "GOMOD")
	if err != nil {
		return err
	}
	if err := os.Chdir(filepath.Join(filepath.Dir(mod), "internal/licenses")); err != nil {
		return err
	}
	text, err := gather()
	if err != nil {
		return err
	}
	const file = "licenses.txt"
	if !check {
		return os.WriteFile(file, text, 0o666)
	}
	if old, err := os.ReadFile(file); err != nil || !bytes.Equal(old, text) {
		return fmt.Errorf("internal/licenses/%s is not what its sources give: run make licenses (%v)", file, err)
	}
	return nil
}

func gather() ([]byte, error) {
	all, err := modules()
	if err != nil {
		return nil, err
	}
	script, err := os.ReadFile("../../scripts/ffmpeg.sh")
	if err != nil {
		return nil, err
	}
	cache, err := output("../../scripts/ffmpeg.sh", "--cache")
	if err != nil {
		return nil, err
	}
	read := func(name string) ([]byte, error) { return readText(cache, name) }
	versions := func(s string) string {
		return os.Expand(s, func(name string) string {
			m := regexp.MustCompile(`(?m)^` + name + `=(\S+)`).FindSubmatch(script)
			if m == nil {
				return "(no " + name + " in scripts/ffmpeg.sh)"
			}
			return string(m[1])
		})
	}
	if err := known(); err != nil {
		return nil, err
	}
	for _, c := range libraries {
		c.version = versions(c.version)
		c.texts = slices.Clone(c.texts)
		for i := range c.texts {
			c.texts[i] = versions(c.texts[i])
		}
		all = append(all, c)
	}
	all = append([]component{{name: "vidfilter", license: "MIT", texts: []string{"../../LICENSE"}}}, all...)

	var b bytes.Buffer
	b.WriteString(head)
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	var order []string
	owners := map[string][]string{} // by text
	for i, c := range all {
		var texts []string
		for _, name := range c.texts {
			text, err := read(name)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			texts = append(texts, clean(string(text)))
		}
		if c.license == "" {
			if c.license = classify(strings.Join(texts, "\n")); c.license == "" {
				return nil, fmt.Errorf("%s: %s is under no licence that this program knows", c.name, c.texts[0])
			}
			all[i].license = c.license
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", c.name, cmp.Or(c.version, "-"), c.license)
		for _, text := range texts {
			if owners[text] == nil {
				order = append(order, text)
			}
			owners[text] = append(owners[text], c.name)
		}
	}
	table.Flush()
	for _, text := range order {
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s", strings.Repeat("=", 80), strings.Join(owners[text], "\n"), text)
	}
	return b.Bytes(), nil
}

// known returns an error if a library that the program is linked with is not in the list.
func known() error {
	prefix, err := output("../../scripts/ffmpeg.sh", "--path")
	if err != nil {
		return err
	}
	files, err := filepath.Glob(prefix + "/lib/*.a")
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no libraries in %s: run make (%v)", prefix, err)
	}
	for _, f := range files {
		if !slices.ContainsFunc(libraries, func(c component) bool {
			return slices.ContainsFunc(c.archives, func(p string) bool { ok, _ := filepath.Match(p, filepath.Base(f)); return ok })
		}) {
			return fmt.Errorf("%s has no licence in internal/licenses/gather", f)
		}
	}
	return nil
}

// modules returns Go itself and the modules with a package in the program.
func modules() ([]component, error) {
	root, err := output("go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	all := []component{{name: "Go's runtime and standard library", license: "BSD-3-Clause", texts: []string{root + "/LICENSE"}}}
	list, err := output("go", "list", "-deps", "-f", `{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}`, "vidfilter/cmd/vidfilter")
	if err != nil {
		return nil, err
	}
	lines := strings.Split(list, "\n")
	slices.Sort(lines)
	for _, line := range slices.Compact(lines) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if len(f) != 3 {
			return nil, fmt.Errorf("go list: %q has no path, version and folder", line)
		}
		c := component{name: f[0], version: f[1]}
		entries, err := os.ReadDir(f[2])
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if isLicense.MatchString(e.Name()) && e.Type().IsRegular() {
				c.texts = append(c.texts, filepath.Join(f[2], e.Name()))
			}
		}
		if c.texts == nil {
			return nil, fmt.Errorf("%s has no licence file", c.name)
		}
		all = append(all, c)
	}
	return all, nil
}

var isLicense = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)(\.(txt|md))?$`)

// readText reads a file, or ARCHIVE:MEMBER of the cache. Of a C header it takes the first comment.
func readText(cache, name string) ([]byte, error) {
	archive, member, ok := strings.Cut(name, ":")
	if !ok {
		return os.ReadFile(name)
	}
	text, err := output("tar", "-xOf", filepath.Join(cache, archive), "--wildcards", "--no-wildcards-match-slash", "*/"+member)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(member, ".h") {
		text, _, _ = strings.Cut(strings.TrimPrefix(text, "/*\n"), "*/")
		text = regexp.MustCompile(`(?m)^ \* ?`).ReplaceAllString(text, "")
	}
	return []byte(text), nil
}

func clean(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\f", "", "\ufeff", "").Replace(text)
	return strings.TrimRight(strings.TrimLeft(text, "\n"), " \n") + "\n"
}

// marks are phrases of licences, with their SPDX names.
var marks = []struct {
	name string
	mark *regexp.Regexp
}{
	{"Apache-2.0", regexp.MustCompile(`(?i)apache license`)},
	{"MIT", regexp.MustCompile(`(?i)permission is hereby granted, free of charge, to any person obtaining a copy`)},
	{"ISC", regexp.MustCompile(`(?i)permission to use, copy, modify,( and/or| and)? distribute this software for any purpose`)},
	{"BSD-3-Clause", regexp.MustCompile(`(?i)redistribution and use in source and binary forms.*neither the names? of`)},
	{"BSD-2-Clause", regexp.MustCompile(`(?i)redistribution and use in source and binary forms`)},
}

// classify returns the SPDX names of the licences in a text, "" if it knows no licence there.
func classify(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if m := regexp.MustCompile(`SPDX-License-Identifier: (.+?) \*/`).FindStringSubmatch(text); m != nil {
		return m[1]
	}
	var names []string
	for _, m := range marks {
		if m.mark.MatchString(text) && !(m.name == "BSD-2-Clause" && slices.Contains(names, "BSD-3-Clause")) {
			names = append(names, m.name)
		}
	}
	return strings.Join(names, " and ")
}

func output(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
