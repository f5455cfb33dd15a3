package testdriver

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// Only the n-th allocation fails, or all from the n-th on.
func TestOutOfMemory(t *testing.T) {
	for _, m := range []struct {
		options string
		want    []int
	}{
		{"alloc=2", []int{0, 2, 0, 0}},
		{"alloc=2+", []int{0, 2, 2, 2}},
		{"memory=1M", []int{0, 0, 2, 2}},
		{"hostalloc=1", []int{0, 0, 0, 0}},
	} {
		c := start(t, m.options).open(0)
		var got []int
		for range m.want {
			got = append(got, c.call("cuMemAlloc_v2", c.alloc(8), 500_000))
		}
		if !slices.Equal(got, m.want) {
			t.Errorf("%s: got %v, want %v", m.options, got, m.want)
		}
	}
	c := start(t, "memory=1M").open(0)
	for range 5 {
		c.must("cuMemFree_v2", c.get("cuMemAlloc_v2", 500_000))
	}
	c = start(t, "hostalloc=1").open(0)
	c.want(2, "cuMemHostAlloc", c.alloc(8), 100, 0)
	c.must("cuMemHostAlloc", c.alloc(8), 100, 0)
}

// Memory of the program is pinned until it is registered no more, and stays the program's.
func TestRegistered(t *testing.T) {
	c := start(t, "leaks=1").open(0)
	mine, device := int(c.alloc(4096)), c.get("cuMemAlloc_v2", 4096)
	c.must("cuMemHostRegister_v2", mine, 4096, 0)
	c.must("cuMemcpyDtoH_v2", mine, device, 4096)
	c.want(1, "cuMemFreeHost", mine)
	c.must("cuMemHostUnregister", mine)
	c.want(1, "cuMemHostUnregister", mine)
	c.must("cuMemcpyDtoH_v2", mine, device, 4096)
	c.must("cuMemHostRegister_v2", mine, 4096, 0)
	c.must("cuMemFree_v2", device)
	c.must("cuDevicePrimaryCtxRelease_v2", 0)
	c.complained("leak: 4096 bytes of pinned memory")

	c = start(t, "hostalloc=1").open(0)
	c.want(2, "cuMemHostRegister_v2", mine, 4096, 0)
	c = start(t, "unregistered=1").open(0)
	c.want(801, "cuMemHostRegister_v2", c.alloc(4096), 4096, 0)
}

// A failed kernel breaks its context: all later calls return the error, until a new context is
// opened.
func TestFailedLaunch(t *testing.T) {
	c := start(t, "launch=2").open(0)
	b := c.buffers()
	for range 2 {
		c.copyIn(b)
		c.filter(b)
		c.copyOut(b)
	}
	c.want(719, "cuStreamSynchronize", b.stream)
	for _, name := range []string{"cuCtxSynchronize", "cuStreamCreate", "cuMemAlloc_v2"} {
		c.want(719, name, c.alloc(8), 100)
	}
	c.want(719, "cuStreamQuery", b.stream)
	c.want(719, "cuMemcpyDtoH_v2", c.alloc(100), b.out, 100)
	c.must("cuDevicePrimaryCtxRelease_v2", 0)
	c.want(709, "cuCtxSynchronize")
	c.open(0).get("cuMemAlloc_v2", 100)
}

// A lost device stays lost, even for new contexts. Other devices keep working.
func TestLostDevice(t *testing.T) {
	hung := start(t, "hang=1,lost=2").open(0)
	b := hung.buffers()
	hung.filter(b)
	hung.want(999, "cuEventRecord", hung.get("cuEventCreate", 0), b.stream)
	hung.must("cuDevicePrimaryCtxRelease_v2", 0) // a lost device does not hang

	for option, result := range map[string]int{"lost=3": 999, "ecc=3": 214} {
		c := start(t, option).open(0)
		b := c.buffers()
		c.copyIn(b)
		c.filter(b)
		c.want(result, "cuMemcpyDtoHAsync_v2", b.host, b.out, 100, b.stream)
		c.want(result, "cuStreamSynchronize", b.stream)
		c.must("cuDevicePrimaryCtxRelease_v2", 0)
		c.want(result, "cuDevicePrimaryCtxRetain", c.alloc(8), 0)
		c.open(1).get("cuMemAlloc_v2", 100)
	}
}

// Waiting for a hanging kernel blocks forever. A query returns that it is not ready.
func TestHang(t *testing.T) {
	c := start(t, "hang=1").open(0)
	b := c.buffers()
	c.filter(b)
	for range 5 {
		c.want(600, "cuStreamQuery", b.stream)
	}
	c.begin("cuStreamSynchronize", b.stream)
	other := c.on(1)
	other.open(1)
	sum, want := sums(1)
	if got := other.mustRun(sum); !slices.Equal(got, want) {
		t.Errorf("the other device gets %v, want %v", got, want)
	}
	select {
	case answer := <-c.answers[0]:
		t.Errorf("the stream that hangs was waited for: %q", answer)
	case <-time.After(100 * time.Millisecond):
	}
	// The program can exit nevertheless, even if another thread waits for the waiting one.
	second := c.on(2).open(0)
	second.begin("cuCtxSynchronize")
	second.on(3).open(1) // by now the second thread waits
	other.dies("exit", 0)
}

func TestDevices(t *testing.T) {
	c := launch(t, "init=100")
	c.want(100, "cuInit", 0)
	c.want(3, "cuDeviceGetCount", c.alloc(4))
	launch(t, "devices=0").want(100, "cuInit", 0)
	start(t, "busy=1").want(46, "cuDevicePrimaryCtxRetain", c.alloc(8), 0)

	c = start(t, "devices=3,compute=61/86,memory=64M,version=9020")
	if n := c.get("cuDeviceGetCount"); n != 3 {
		t.Errorf("%d devices", n)
	}
	for device, compute := range []uint64{61, 86, 86} {
		if got := 10*c.attribute(75, device) + c.attribute(76, device); got != compute {
			t.Errorf("device %d: compute capability %d, want %d", device, got, compute)
		}
	}
	c.want(101, "cuDeviceGetAttribute", c.alloc(4), 75, 3)
	if v, m := c.get("cuDriverGetVersion"), c.get("cuDeviceTotalMem_v2", 2); v != 9020 || m != 64<<20 {
		t.Errorf("version %d, memory %d", v, m)
	}
	name := c.alloc(100)
	c.must("cuDeviceGetName", name, 100, 1)
	if got := string(c.read(name, 21)); got != "vidfilter test device" {
		t.Errorf("name %q", got)
	}
}

func (c *caller) attribute(attribute, device int) uint64 {
	c.t.Helper()
	return c.get("cuDeviceGetAttribute", attribute, device)
}

// Invalid options end the program: a test with a misspelt option would test no fault.
func TestUnknownOption(t *testing.T) {
	for _, option := range []string{"allok=3", "alloc", "alloc=x", "slow=3h"} {
		c := launch(t, option)
		c.dies("cuInit", 0)
		c.complained("VIDFILTER_TESTDRIVER: ")
	}
}

// Each leak is reported once.
func TestLeaks(t *testing.T) {
	c := start(t, "leaks=1").open(0)
	c.get("cuMemAlloc_v2", 1000)
	c.get("cuMemHostAlloc", 2000, 0)
	c.get("cuStreamCreate", 0)
	c.get("cuEventCreate", 0)
	c.function(copyRun)
	freed := c.get("cuMemAlloc_v2", 3000)
	c.must("cuMemFree_v2", freed)
	c.must("cuDevicePrimaryCtxRelease_v2", 0)
	for _, leak := range []string{"1000 bytes of device memory", "2000 bytes of pinned memory", "a stream", "an event", "a module"} {
		c.complained("leak: " + leak)
	}
	if n := strings.Count(c.stderr.String(), "leak"); n != 5 {
		t.Errorf("%d leaks, want 5", n)
	}
}

// A broken context has no leaks, since a program cannot free anything in it.
func TestNoLeaks(t *testing.T) {
	c := start(t, "leaks=1,launch=1").open(0)
	b := c.buffers()
	c.filter(b)
	c.want(719, "cuStreamSynchronize", b.stream)
	c.must("cuDevicePrimaryCtxRelease_v2", 0)
	if c.finish(); c.stderr.Len() > 0 {
		t.Error("the driver complains")
	}
}

// A device has one primary context, which lives until its last reference is released.
func TestPrimaryContext(t *testing.T) {
	c := start(t, "")
	first := c.get("cuDevicePrimaryCtxRetain", 0)
	if c.get("cuDevicePrimaryCtxRetain", 0) != first {
		t.Error("two contexts")
	}
	c.must("cuDevicePrimaryCtxRelease_v2", 0)
	c.must("cuCtxSetCurrent", first)
	c.must("cuDevicePrimaryCtxRelease_v2", 0)
	c.want(201, "cuDevicePrimaryCtxRelease_v2", 0)
	c.want(201, "cuCtxSetCurrent", first)
}

// Handles that were freed, or are of another kind or another device, are refused.
func TestHandles(t *testing.T) {
	c := start(t, "").open(0)
	memory, stream, event := c.get("cuMemAlloc_v2", 100), c.get("cuStreamCreate", 0), c.get("cuEventCreate", 0)
	c.want(400, "cuStreamSynchronize", event)
	c.want(400, "cuEventSynchronize", stream)
	c.want(400, "cuEventRecord", event, stream+16)
	c.must("cuEventDestroy_v2", event)
	c.want(400, "cuEventDestroy_v2", event)
	c.must("cuMemFree_v2", memory)
	c.want(1, "cuMemFree_v2", memory)
	c.want(1, "cuMemcpyDtoH_v2", c.alloc(100), memory, 100)
	if again := c.get("cuMemAlloc_v2", 100); again == memory {
		t.Error("an address is used twice")
	}

	memory, event = c.get("cuMemAlloc_v2", 100), c.get("cuEventCreate", 0)
	c.want(1, "cuMemcpyDtoH_v2", c.alloc(200), memory, 101)
	pinned := c.get("cuMemHostAlloc", 50, 0)
	c.want(1, "cuMemcpyDtoH_v2", pinned, memory, 51)
	c.want(1, "cuMemcpyDtoH_v2", memory, memory, 10)
	c.want(1, "cuMemcpyHtoD_v2", c.alloc(10), memory, 10)
	f := c.function(copyRun)
	c.open(1)
	if result := c.launch(f, copyRun, 0, 0, 0); result != 400 {
		t.Errorf("a kernel of another context answers %d", result)
	}
	c.want(801, "cuStreamWaitEvent", 0, event, 0)
	c.want(1, "cuMemcpyDtoH_v2", c.alloc(100), memory, 100)
	c.want(1, "cuMemFree_v2", memory)
	c.want(400, "cuMemcpyDtoHAsync_v2", c.alloc(100), memory, 100, stream)

	c.on(1).want(201, "cuCtxSynchronize")
	c.must("cuCtxSetCurrent", 0)
	c.want(201, "cuMemAlloc_v2", c.alloc(8), 100)
	c.want(201, "cuCtxSetCurrent", stream)
	c.want(801, "cuGraphCreate", c.alloc(8), 0)
	c.complained("cuGraphCreate is not supported")
}

// Writes of the host beyond pinned memory are detected when it is freed, and end the program.
func TestPinnedGuards(t *testing.T) {
	for _, at := range []int{-1, 1000} {
		c := start(t, "").open(0)
		memory := c.get("cuMemHostAlloc", 1000, 0)
		c.write(uint64(int(memory)+at), []byte{1})
		c.dies("cuMemFreeHost", memory)
		c.complained(fmt.Sprintf("the host wrote %s pinned memory of 1000 bytes", map[bool]string{true: "before", false: "behind"}[at < 0]))
	}
}

// The log has all calls, and the kernels when they run.
func TestLog(t *testing.T) {
	c := start(t, "").open(0)
	b := c.buffers()
	c.filter(b)
	for prefix, n := range map[string]int{
		"cuInit 0": 1, "cuMemAlloc 0 bytes=1536": 1, "cuMemHostAlloc 0 bytes=1536": 1, "run words": 0,
		"cuLaunchKernel 0 stream=1 kernel=words grid=2,1 block=32,2 shared=0": 1,
	} {
		if got := c.count(prefix); got != n {
			t.Errorf("%d lines %q, want %d", got, prefix, n)
		}
	}
	c.must("cuStreamSynchronize", b.stream)
	if n := c.count("run words"); n != 1 {
		t.Errorf("%d runs, want 1", n)
	}
}

// Error codes have texts, for programs to show.
func TestErrorTexts(t *testing.T) {
	c := start(t, "")
	at, want := c.alloc(8), "unspecified launch failure\x00"
	c.must("cuGetErrorString", 719, at)
	if got := string(c.read(binary.LittleEndian.Uint64(c.read(at, 8)), len(want))); got != want {
		t.Errorf("got %q", got)
	}
	c.want(1, "cuGetErrorString", 12345, at)
}

// One call fails, whichever it is; cuInit does not count.
func TestOneCall(t *testing.T) {
	c := launch(t, "call=2")
	c.must("cuInit", 0)
	c.must("cuDeviceGetCount", c.alloc(4))
	c.want(999, "cuDeviceGet", c.alloc(4), 0)
	c.must("cuDeviceGet", c.alloc(4), 0)
}
