// Command mkptx compiles the CUDA kernels to PTX: kernels/ptx/NAME.ptx.gz for every variant of the list, and nothing else is left
// there. Run it in the top folder of the tree after a change below kernels/cuda or in kernels/variants.go.
//
//	go run ./kernels/mkptx [-check]  compile all; with -check compare instead, and fail where they differ
//	go run ./kernels/mkptx -list     print what would be compiled, one variant a line: NAME SOURCE FLAGS...
//
// PTX of clang 19 for compute capability 6.1 and PTX ISA 6.0 loads on every GPU since 2016 with every driver since 2017.
package main

import (
	"bytes"
	"compress/gzip"
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

	"vidfilter/kernels"
)

const folder = "kernels/ptx"

func main() {
	list := flag.Bool("list", false, "print what would be compiled")
	check := flag.Bool("check", false, "compare with what is there instead of writing")
	clang := flag.String("clang", "clang-19", "the compiler")
	flag.Parse()
	if *list {
		for _, v := range kernels.Variants() {
			fmt.Println(v.Name, filepath.Join("kernels/cuda", v.Source()), strings.Join(v.Flags(), " "))
		}
		return
	}
	if err := makeAll(*clang, *check); err != nil {
		fmt.Fprintln(os.Stderr, "mkptx:", err)
		os.Exit(1)
	}
}

func makeAll(clang string, check bool) error {
	texts, err := compileAll(clang, kernels.Variants())
	if err != nil {
		return err
	}
	if check {
		return compare(texts)
	}
	for name, text := range texts {
		if have(name) == string(text) {
			continue // as another compressor may have written it
		}
		if err := write(name, text); err != nil {
			return err
		}
	}
	for _, name := range stray(texts) {
		if err := os.Remove(file(name)); err != nil {
			return err
		}
	}
	return nil
}

func file(name string) string { return filepath.Join(folder, name+suffix) }

const suffix = ".ptx.gz"

func write(name string, text []byte) error {
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
	return os.WriteFile(file(name), b.Bytes(), 0o666)
}

// have returns the module that is there, as this program was built with it; "" where there is none.
func have(name string) string {
	v, err := kernels.Named(name)
	if err != nil {
		return ""
	}
	text, err := v.PTX()
	if err != nil {
		return ""
	}
	return text
}

// stray returns the modules in the folder that no variant has.
func stray(texts map[string][]byte) (names []string) {
	files, _ := filepath.Glob(file("*"))
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), suffix)
		if _, ok := texts[name]; !ok {
			names = append(names, name)
		}
	}
	return names
}

// compare says which modules are not what their sources give.
func compare(texts map[string][]byte) error {
	bad := stray(texts)
	for name, text := range texts {
		if have(name) != string(text) {
			bad = append(bad, name)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	slices.Sort(bad)
	return fmt.Errorf("not what the sources give: %s; run: make ptx", strings.Join(bad, ", "))
}

// compileAll compiles on all cores.
func compileAll(clang string, variants []kernels.Variant) (map[string][]byte, error) {
	texts := make(map[string][]byte)
	var errs error
	var mu sync.Mutex
	var wg sync.WaitGroup
	free := make(chan struct{}, runtime.NumCPU())
	for _, v := range variants {
		free <- struct{}{}
		wg.Go(func() {
			text, err := compile(clang, v)
			mu.Lock()
			texts[v.Name], errs = text, errors.Join(errs, err)
			mu.Unlock()
			<-free
		})
	}
	wg.Wait()
	return texts, errs
}

// compile returns the PTX of a variant. Multiply-adds are only where the source asks for them.
func compile(clang string, v kernels.Variant) ([]byte, error) {
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
	args = append(args, "-S", "-o", "-", filepath.Join("kernels/cuda", v.Source()))
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(clang, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", v.Name, err, stderr.String())
	}
	return tidy(stdout.Bytes()), nil
}

// tidy drops comments and blanks, which are a third of the text.
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
