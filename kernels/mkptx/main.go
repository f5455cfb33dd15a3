// Command mkptx compiles the CUDA kernels of the program and of the papers to PTX: one
// ptx/NAME.ptx.gz in the library's folder for each variant. It removes all other files there. Run
// it in the top folder of the tree after changing a *.cu or a list of variants.
//
//	go run ./kernels/mkptx           compile all
//	go run ./kernels/mkptx -check    compare with the existing files instead; fail if any differs
//	go run ./kernels/mkptx -only X   compile those whose names begin with X, and leave the others
//	go run ./kernels/mkptx -list     print one variant a line: NAME SOURCE FLAGS...
//
// With -cache FOLDER, modules that the same clang has compiled before from the same preprocessed
// text with the same flags come from there.
//
// PTX of clang 19 for compute capability 6.1 and PTX ISA 6.0 loads on every GPU since 2016 with
// every driver since 2017.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"vidfilter/denoise/device"
	"vidfilter/gpu/surface"
	fields "vidfilter/interlace/device"
	"vidfilter/kernels"
	"vidfilter/lab/papers"
)

var libraries = []*kernels.Library{kernels.Builtin, device.Library, fields.Library, surface.Library, papers.Library}

func main() {
	list := flag.Bool("list", false, "print the variants, and compile nothing")
	check := flag.Bool("check", false, "compare with the existing files instead of writing")
	only := flag.String("only", "", "the beginning of the names of the kernels to compile")
	var c compiler
	flag.StringVar(&c.clang, "clang", "clang-19", "the compiler")
	flag.StringVar(&c.cache, "cache", "", "the `folder` that keeps compiled modules")
	flag.Parse()
	if *list {
		printList()
		return
	}
	var failed error
	for _, l := range libraries {
		failed = errors.Join(failed, makeAll(l, c, *only, *check))
	}
	if failed != nil {
		fmt.Fprintln(os.Stderr, "mkptx:", failed)
		os.Exit(1)
	}
}

func printList() {
	for _, l := range libraries {
		for _, v := range l.Variants() {
			fmt.Println(v.Name, v.SourceFile(), strings.Join(v.Flags(), " "))
		}
	}
}

func makeAll(l *kernels.Library, c compiler, only string, check bool) error {
	variants := slices.DeleteFunc(l.Variants(), func(v kernels.Variant) bool { return !strings.HasPrefix(v.Name, only) })
	texts, err := c.compileAll(variants)
	if err != nil {
		return err
	}
	if check && only == "" {
		return compare(l, texts)
	}
	for name, text := range texts {
		if have(l, name) == string(text) {
			continue // another compressor may have written it
		}
		if err := write(file(l, name), text); err != nil {
			return err
		}
	}
	if only != "" {
		return nil
	}
	for _, name := range stray(l, texts) {
		if err := os.Remove(file(l, name)); err != nil {
			return err
		}
	}
	return nil
}

func file(l *kernels.Library, name string) string { return filepath.Join(l.Folder, "ptx", name+suffix) }

const suffix = ".ptx.gz"

func write(path string, text []byte) error {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(text); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o666)
}

// have returns the module embedded in this program, or "".
func have(l *kernels.Library, name string) string {
	v, err := l.Named(name)
	if err != nil {
		return ""
	}
	text, err := v.PTX()
	if err != nil {
		return ""
	}
	return text
}

// stray returns the modules in the folder that belong to no variant.
func stray(l *kernels.Library, texts map[string][]byte) (names []string) {
	files, _ := filepath.Glob(file(l, "*"))
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), suffix)
		if _, ok := texts[name]; !ok {
			names = append(names, name)
		}
	}
	return names
}

// compare reports modules that differ from their compiled sources.
func compare(l *kernels.Library, texts map[string][]byte) error {
	bad := stray(l, texts)
	for name, text := range texts {
		if have(l, name) != string(text) {
			bad = append(bad, name)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	slices.Sort(bad)
	return fmt.Errorf("these differ from their sources: %s; run: make ptx", strings.Join(bad, ", "))
}

// compileAll compiles on all cores.
func (c compiler) compileAll(variants []kernels.Variant) (map[string][]byte, error) {
	texts := make(map[string][]byte)
	var errs error
	var mu sync.Mutex
	var wg sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, v := range variants {
		free <- struct{}{}
		wg.Go(func() {
			text, err := c.compile(v)
			mu.Lock()
			texts[v.Name], errs = text, errors.Join(errs, err)
			mu.Unlock()
			<-free
		})
	}
	wg.Wait()
	return texts, errs
}

// compiler is clang, with a folder that keeps its output unless it is "".
type compiler struct{ clang, cache string }

// compile returns the PTX of a variant.
func (c compiler) compile(v kernels.Variant) ([]byte, error) {
	args := arguments(v)
	if c.cache == "" {
		ptx, err := c.run(v.Name, args, "-S")
		return tidy(ptx), err
	}
	source, err := c.run(v.Name, args, "-E", "-P", "-dD") // which also prints the compiler's version
	if err != nil {
		return nil, err
	}
	file := filepath.Join(c.cache, fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(source, "%q", args))))
	ptx, err := os.ReadFile(file)
	if err != nil {
		if ptx, err = c.run(v.Name, args, "-S"); err == nil {
			err = keep(file, ptx)
		}
	}
	return tidy(ptx), err
}

// keep writes a file whole or not at all.
func keep(file string, data []byte) error {
	part := fmt.Sprintf("%s.%d", file, os.Getpid())
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(part, data, 0o666); err != nil {
		return err
	}
	return os.Rename(part, file)
}

// arguments returns clang's arguments without the kind of output. Multiply-adds are fused only
// where the source does so.
func arguments(v kernels.Variant) []string {
	isa := "+ptx60"
	switch {
	case v.Compute >= 90:
		isa = "+ptx78"
	case v.Compute >= 80:
		isa = "+ptx70"
	}
	args := []string{"-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "-std=c++17", "-O3", "-Wall", "-Werror",
		"-Wno-unused-function", "-ffp-contract=off", "-mllvm", "-pragma-unroll-threshold=1000000", fmt.Sprintf("--cuda-gpu-arch=sm_%d", v.Compute), "-Xclang", "-target-feature", "-Xclang", isa}
	args = append(args, v.Flags()...)
	return append(args, "-I", "kernels/cuda", "-o", "-", v.SourceFile())
}

func (c compiler) run(name string, args []string, output ...string) ([]byte, error) {
	var stderr bytes.Buffer
	cmd := exec.Command(c.clang, slices.Concat(output, args)...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", name, err, stderr.String())
	}
	return out, nil
}

// tidy drops comments and whitespace, a third of the text.
func tidy(ptx []byte) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(ptx) {
		code, _, _ := bytes.Cut(line, []byte("//"))
		if code = bytes.TrimSpace(code); len(code) > 0 {
			out.Write(append(code, '\n'))
		}
	}
	return out.Bytes()
}
