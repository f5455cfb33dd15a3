package testdriver

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"testing"

	"vidfilter/internal/e2e"
)

// module returns the parts of clang's PTX that the driver reads.
func module(kernel string, threads, compute int) string {
	return fmt.Sprintf(".version 6.0\n.target sm_%d\n.address_size 64\n.extern .shared .align 16 .b8 vf_shared[];\n"+
		".visible .entry %s(\n.param .align 8 .b8 %s_param_0[24]\n)\n.maxntid %d, 2, 1\n{\nret;\n}\n",
		compute, kernel, kernel, threads/2)
}

// run is a run of a kernel in testdata over words.
type run struct {
	kernel      string
	threads     int // maximum per block, in the PTX
	compute     int
	grid, block [2]int
	shared      int
	in          []uint32
	out         int // words
	what, count int
}

// function loads the kernel and returns its handle.
func (c *caller) function(r run) uint64 {
	c.t.Helper()
	text := module(r.kernel, r.threads, max(r.compute, 61))
	if *gpu {
		text = c.compile(r)
	}
	m := c.get("cuModuleLoadData", c.text(text))
	return c.get("cuModuleGetFunction", m, c.text(r.kernel))
}

// compile returns the kernel's PTX.
func (c *caller) compile(r run) string {
	c.t.Helper()
	file, err := compileOnce(r.kernel+".ptx", "-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "-std=c++17", "-O2",
		"-ffp-contract=off", "--cuda-gpu-arch=sm_80", "-Xclang", "-target-feature", "-Xclang", "+ptx70", "-I", "../../kernels/cuda",
		"-DVF_COMPUTE=80", "-DVF_NAME="+r.kernel, "-S", "testdata/"+r.kernel+".cu")
	e2e.Must(c.t, err)
	text, err := os.ReadFile(file)
	e2e.Must(c.t, err)
	return string(text)
}

// device copies words into new device memory.
func (c *caller) device(words []uint32) uint64 {
	c.t.Helper()
	address := c.get("cuMemAlloc_v2", max(4*len(words), 4))
	if len(words) == 0 {
		return address
	}
	host := c.alloc(4 * len(words))
	c.write(host, bytesOf(words))
	c.must("cuMemcpyHtoD_v2", address, host, 4*len(words))
	return address
}

func (c *caller) fromDevice(address uint64, n int) []uint32 {
	c.t.Helper()
	host := c.alloc(4 * n)
	c.must("cuMemcpyDtoH_v2", host, address, 4*n)
	return wordsOf(c.read(host, 4*n))
}

// launch queues a kernel.
func (c *caller) launch(f uint64, r run, in, out, stream uint64) int {
	c.t.Helper()
	args := binary.LittleEndian.AppendUint64(nil, in)
	args = binary.LittleEndian.AppendUint64(args, out)
	args = binary.LittleEndian.AppendUint32(args, uint32(r.what))
	args = binary.LittleEndian.AppendUint32(args, uint32(r.count))
	at, params := c.alloc(len(args)), c.alloc(8)
	c.write(at, args)
	c.write(params, binary.LittleEndian.AppendUint64(nil, at))
	return c.call("cuLaunchKernel", f, r.grid[0], r.grid[1], 1, r.block[0], r.block[1], 1, r.shared, stream, params, 0)
}

// run runs a kernel and returns its output, or the driver's error.
func (c *caller) run(r run) ([]uint32, int) {
	c.t.Helper()
	in, out := c.device(r.in), c.get("cuMemAlloc_v2", max(4*r.out, 4))
	if result := c.launch(c.function(r), r, in, out, 0); result != 0 {
		return nil, result
	}
	if result := c.call("cuCtxSynchronize"); result != 0 {
		return nil, result
	}
	words := c.fromDevice(out, r.out)
	c.must("cuMemFree_v2", in)
	c.must("cuMemFree_v2", out)
	return words, 0
}

func (c *caller) mustRun(r run) []uint32 {
	c.t.Helper()
	words, result := c.run(r)
	if result != 0 {
		c.t.Fatalf("%s answers %d", r.kernel, result)
	}
	return words
}

func bytesOf(words []uint32) (b []byte) {
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

func wordsOf(b []byte) (words []uint32) {
	for ; len(b) >= 4; b = b[4:] {
		words = append(words, binary.LittleEndian.Uint32(b))
	}
	return words
}

// A sum over shared memory is right in every order of the threads; without barriers it is wrong in
// some.
func TestBarriers(t *testing.T) {
	sum, want := sums(5)
	racing, wrong := sum, 0
	racing.kernel = "sum_racing"
	for order := range 4 {
		c := start(t, fmt.Sprintf("order=%d", order)).open(0)
		if got := c.mustRun(sum); !slices.Equal(got, want) {
			t.Errorf("order %d: got %v, want %v", order, got, want)
		}
		if !slices.Equal(c.mustRun(racing), want) {
			wrong++
		}
	}
	if wrong == 0 {
		t.Error("without barriers the sums are right, too")
	}
}

// sums returns a run of the kernel that sums 256 words per block, and its expected output.
func sums(blocks int) (r run, want []uint32) {
	r = run{kernel: "sum", threads: 256, grid: [2]int{blocks, 1}, block: [2]int{256, 1}, shared: 1024, out: blocks}
	want = make([]uint32, blocks)
	for i := range 256 * blocks {
		r.in = append(r.in, uint32(i*i))
		want[i/256] += uint32(i * i)
	}
	return r, want
}

// Fibres also work with ucontext, which machines other than x86-64 use.
func TestFibresOfTheLibrary(t *testing.T) {
	if *gpu {
		t.Skip("not about a real GPU")
	}
	e2e.Needs(t, "clang-19")
	t.Setenv("CPPFLAGS", "-DVF_UCONTEXT")
	folder, err := Build(kernelList)
	e2e.Must(t, err)
	if ours, _ := testFolder(); folder == ours {
		t.Fatal("not built anew")
	}
	c := launchIn(t, folder, "")
	c.must("cuInit", 0)
	sum, want := sums(5)
	if got := c.open(0).mustRun(sum); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestPlaces(t *testing.T) {
	c := startAnywhere(t, "")
	got := c.mustRun(run{kernel: "words", threads: 64, grid: [2]int{2, 3}, block: [2]int{32, 2}, in: make([]uint32, 3*64*6), out: 64 * 6, what: 19})
	for i, word := range got {
		x, y, block := i%32, i/32%2, i/64
		if want := uint32(x | y<<8 | block%2<<16 | block/2<<24); word != want {
			t.Fatalf("thread %d: got %#x, want %#x", i, word, want)
		}
	}
}

// Fatal errors end the launch with the error code of a GPU and a message that locates them.
func TestForbidden(t *testing.T) {
	for _, c := range []struct {
		name        string
		what, count int
		result      int
		complaint   string
	}{
		{"half a warp shuffles", 0, 0, 719, "block (0, 0, 0): the threads of a warp parted: 0 to 15 at shuffle, 16 to 31 at its end"},
		{"two operations", 1, 0, 719, "the threads of a warp parted: 32 to 39 at shuffle_up, 40 to 63 at shuffle_down"},
		{"a warp passes the barrier", 2, 0, 719, "the threads of a block parted: 0 to 31 at the block's barrier, 32 to 63 at its end"},
		{"half a warp passes the barrier", 3, 0, 719, "0 to 0 at its end, 1 to 1 at the block's barrier"},
		{"read behind", 4, 256, 700, "thread (0, 0): reads 4 bytes at"},
		{"read before", 4, -4, 700, "byte -4 of the 256"},
		{"read across the end", 4, 254, 716, "reads 4 bytes"},
		{"write behind", 5, 256, 700, "writes 4 bytes"},
		{"odd address", 6, 0, 716, "reads 2 bytes at"},
		{"address of a vector", 7, 0, 716, "writes 16 bytes at"},
		{"write behind shared memory", 8, 1024, 700, "byte 1024 of 1024 of the shared memory was written"},
		{"matrix behind shared memory", 9, 1024, 716, "load_matrices: a row at byte 1024"},
		{"odd matrix", 9, 8, 716, "load_matrices: a row at byte 8"},
		{"a warp that is not whole", 11, 0, 719, "shuffle in a warp of 16 threads"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := start(t, "").open(0)
			r := run{kernel: "part", threads: 64, compute: 80, grid: [2]int{1, 1}, block: [2]int{64, 1}, shared: 1024,
				in: make([]uint32, 64), out: 64, what: c.what, count: c.count}
			if c.what == 11 {
				r.block[0] = 48
			}
			if _, result := p.run(r); result != c.result {
				t.Errorf("answers %d, want %d", result, c.result)
			}
			p.complained("kernel part, ")
			p.complained(c.complaint)
		})
	}
}

// A kernel cannot access freed memory or another device's, even at addresses accessed before.
func TestForeignMemory(t *testing.T) {
	for _, what := range []string{"freed", "another device's"} {
		c := start(t, "").open(0)
		sum, _ := sums(1)
		f, in, out := c.function(sum), c.device(sum.in), c.get("cuMemAlloc_v2", 4)
		c.launch(f, sum, in, out, 0)
		c.must("cuCtxSynchronize")
		if what == "freed" {
			c.must("cuMemFree_v2", in)
		} else {
			c.open(1)
			f, out = c.function(sum), c.get("cuMemAlloc_v2", 4)
		}
		c.launch(f, sum, in, out, 0)
		if result := c.call("cuCtxSynchronize"); result != 700 {
			t.Errorf("%s: answers %d, want 700", what, result)
		}
	}
}
