package testdriver

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"
	"time"
)

const nonBlocking = 1

// buffers is a stream with buffers and the kernel words, which copies: out = |in - 0|.
type buffers struct {
	stream        uint64
	host, in, out uint64 // host is pinned, the others are on the device
	f             uint64
	n             int // words
	from          []uint32
}

var copyRun = run{kernel: "words", threads: 64, compute: 80, grid: [2]int{2, 1}, block: [2]int{32, 2}, what: 1}

func (c *caller) buffers() *buffers {
	c.t.Helper()
	b := &buffers{stream: c.get("cuStreamCreate", nonBlocking), n: 128, f: c.function(copyRun)}
	for i := range b.n {
		b.from = append(b.from, uint32(7*i+1), 0, 0)
	}
	b.host = c.get("cuMemHostAlloc", 12*b.n, 0)
	b.in, b.out = c.get("cuMemAlloc_v2", 12*b.n), c.get("cuMemAlloc_v2", 4*b.n)
	c.write(b.host, bytesOf(b.from))
	return b
}

func (c *caller) copyIn(b *buffers) {
	c.t.Helper()
	c.must("cuMemcpyHtoDAsync_v2", b.in, b.host, 12*b.n, b.stream)
}
func (c *caller) copyOut(b *buffers) {
	c.t.Helper()
	c.must("cuMemcpyDtoHAsync_v2", b.host, b.out, 4*b.n, b.stream)
}
func (c *caller) filter(b *buffers) {
	c.t.Helper()
	if result := c.launch(b.f, copyRun, b.in, b.out, b.stream); result != 0 {
		c.t.Fatalf("launch answers %d", result)
	}
}
func (c *caller) result(b *buffers) []uint32 { c.t.Helper(); return wordsOf(c.read(b.host, 4*b.n)) }

func (b *buffers) want() (words []uint32) {
	for i := 0; i < len(b.from); i += 3 {
		words = append(words, b.from[i])
	}
	return words
}

var poison = bytes.Repeat([]byte{0xa5}, 512)

// Before the host waits for a stream it finds poison in place of the result.
func TestResultsAreLate(t *testing.T) {
	for _, wait := range []struct {
		name string
		do   func(c *caller, b *buffers, event uint64)
	}{
		{"stream", func(c *caller, b *buffers, _ uint64) { c.must("cuStreamSynchronize", b.stream) }},
		{"event", func(c *caller, _ *buffers, event uint64) { c.must("cuEventSynchronize", event) }},
		{"context", func(c *caller, _ *buffers, _ uint64) { c.must("cuCtxSynchronize") }},
		{"event of another stream", func(c *caller, _ *buffers, event uint64) {
			other := c.get("cuStreamCreate", nonBlocking)
			c.must("cuStreamWaitEvent", other, event, 0)
			c.must("cuStreamSynchronize", other)
		}},
		{"asking for the event", func(c *caller, _ *buffers, event uint64) { c.poll("cuEventQuery", event) }},
		{"asking for the stream", func(c *caller, b *buffers, _ uint64) { c.poll("cuStreamQuery", b.stream) }},
	} {
		t.Run(wait.name, func(t *testing.T) {
			c := start(t, "").open(0)
			b := c.buffers()
			event := c.get("cuEventCreate", 0)
			c.copyIn(b)
			c.filter(b)
			c.copyOut(b)
			c.must("cuEventRecord", event, b.stream)
			if got := c.read(b.host, 512); !bytes.Equal(got, poison) {
				t.Errorf("before the wait: got % x...", got[:8])
			}
			wait.do(c, b, event)
			if got := c.result(b); !slices.Equal(got, b.want()) {
				t.Errorf("after the wait: got %v", got)
			}
		})
	}
}

// poll queries until the result is success, which the first one must not be.
func (c *caller) poll(name string, handle uint64) {
	c.t.Helper()
	questions := 0
	for c.call(name, handle) == 600 {
		if questions++; questions > 10 {
			c.t.Fatal("never ready")
		}
	}
	c.must(name, handle)
	if questions < 3 {
		c.t.Errorf("ready after %d questions, with three pieces of work before", questions)
	}
}

// The source of a copy is read when the copy runs: data written to it in the meantime is copied.
func TestSourcesAreReadLate(t *testing.T) {
	c := start(t, "").open(0)
	b := c.buffers()
	c.copyIn(b)
	c.write(b.host, bytesOf([]uint32{9999}))
	c.filter(b)
	c.copyOut(b)
	c.must("cuStreamSynchronize", b.stream)
	if got := c.result(b)[0]; got != 9999 {
		t.Errorf("got %d, want what was written after the call", got)
	}
}

// Pageable memory is read at the call and written before it returns.
func TestPageableMemory(t *testing.T) {
	c := start(t, "").open(0)
	b := c.buffers()
	pageable := c.alloc(12 * b.n)
	c.write(pageable, bytesOf(b.from))
	c.must("cuMemcpyHtoDAsync_v2", b.in, pageable, 12*b.n, b.stream)
	c.write(pageable, bytesOf([]uint32{9999}))
	c.filter(b)
	c.must("cuMemcpyDtoHAsync_v2", pageable, b.out, 4*b.n, b.stream)
	if got := wordsOf(c.read(pageable, 4*b.n)); !slices.Equal(got, b.want()) {
		t.Errorf("got %v", got)
	}
}

// Freeing memory waits for all work, as on real devices.
func TestFreeWaits(t *testing.T) {
	for _, free := range []string{"cuMemFree_v2", "cuMemFreeHost"} {
		c := start(t, "").open(0)
		b := c.buffers()
		c.copyIn(b)
		c.filter(b)
		c.copyOut(b)
		if free == "cuMemFree_v2" {
			c.must(free, b.in)
		} else {
			c.must(free, c.get("cuMemHostAlloc", 8, 0))
		}
		if got := c.result(b); !slices.Equal(got, b.want()) {
			t.Errorf("%s: got %v", free, got)
		}
	}
}

// Two streams without dependencies run in different orders.
func TestStreamsTakeTurns(t *testing.T) {
	seen := map[uint32]bool{}
	for _, options := range []string{"", "order=1"} {
		c := start(t, options).open(0)
		host, to := c.get("cuMemHostAlloc", 12, 0), c.get("cuMemAlloc_v2", 4)
		c.write(host, bytesOf([]uint32{1, 2}))
		for i := range uint64(2) {
			c.must("cuMemcpyHtoDAsync_v2", to, host+4*i, 4, c.get("cuStreamCreate", nonBlocking))
		}
		c.must("cuCtxSynchronize")
		seen[c.fromDevice(to, 1)[0]] = true
	}
	if len(seen) != 2 {
		t.Errorf("only %v came last", seen)
	}
}

// Without dependencies, the kernel of one stream does not see the pending copies of another.
func TestStreamsAreApart(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		c := start(t, "").open(0)
		b := c.buffers()
		c.copyIn(b)
		event := c.get("cuEventCreate", 0)
		c.must("cuEventRecord", event, b.stream)
		b.stream = c.get("cuStreamCreate", nonBlocking)
		if ordered {
			c.must("cuStreamWaitEvent", b.stream, event, 0)
		}
		c.filter(b)
		c.copyOut(b)
		c.must("cuStreamSynchronize", b.stream)
		if got := slices.Equal(c.result(b), b.want()); got != ordered {
			t.Errorf("with a wait %v: the result is right %v", ordered, got)
		}
	}
}

// The default stream and the others wait for each other, unless these are non-blocking.
func TestDefaultStream(t *testing.T) {
	for _, flags := range []int{0, nonBlocking} {
		c := start(t, "").open(0)
		b := c.buffers()
		b.stream = c.get("cuStreamCreate", flags)
		c.copyIn(b)
		null := *b
		null.stream = 0
		c.filter(&null)
		c.copyOut(b)
		c.must("cuStreamSynchronize", b.stream)
		if got := slices.Equal(c.result(b), b.want()); got != (flags == 0) {
			t.Errorf("flags %d: the result is right %v", flags, got)
		}
	}
}

// A destroyed stream still does its work, but its handle is invalid.
func TestDestroyedStream(t *testing.T) {
	c := start(t, "").open(0)
	b := c.buffers()
	event := c.get("cuEventCreate", 0)
	c.copyIn(b)
	c.filter(b)
	c.copyOut(b)
	c.must("cuEventRecord", event, b.stream)
	c.must("cuStreamDestroy_v2", b.stream)
	c.want(400, "cuStreamSynchronize", b.stream)
	c.want(400, "cuEventRecord", event, b.stream)
	c.must("cuEventSynchronize", event)
	if got := c.result(b); !slices.Equal(got, b.want()) {
		t.Errorf("got %v", got)
	}
}

// A copy with pitches moves rows and leaves the gaps between them alone.
func TestRows(t *testing.T) {
	c := start(t, "").open(0)
	const width, height, hostPitch, devicePitch = 5, 3, 8, 64
	host, back := c.get("cuMemHostAlloc", hostPitch*height, 0), c.get("cuMemHostAlloc", hostPitch*height, 0)
	device := c.get("cuMemAlloc_v2", devicePitch*height)
	rows := []byte("abcde---fghij---klmno---")
	c.write(host, rows)
	c.write(back, bytes.Repeat([]byte{'.'}, len(rows)))
	c.must("cuMemcpy2DAsync_v2", c.rows(side{1, host, hostPitch}, side{2, device, devicePitch}, width, height), 0)
	c.must("cuMemcpy2DAsync_v2", c.rows(side{2, device, devicePitch}, side{1, back, hostPitch}, width, height), 0)
	c.must("cuCtxSynchronize")
	if got := string(c.read(back, len(rows))); got != "abcde...fghij...klmno..." {
		t.Errorf("got %q", got)
	}
	again := c.get("cuMemAlloc_v2", devicePitch*height)
	c.must("cuMemcpyDtoDAsync_v2", again, device, devicePitch*height, 0)
	c.must("cuMemcpy2D_v2", c.rows(side{2, again, devicePitch}, side{1, back + 1, hostPitch}, 1, height))
	if got := string(c.read(back, len(rows))); got != "aacde...ffhij...kkmno..." {
		t.Errorf("got %q", got)
	}
	c.want(801, "cuMemcpy2D_v2", c.rows(side{4, host, hostPitch}, side{2, device, devicePitch}, width, height))
	c.want(1, "cuMemcpy2D_v2", c.rows(side{1, host, hostPitch}, side{2, device, devicePitch}, width, height+1))
	c.want(1, "cuMemcpy2D_v2", c.rows(side{1, host, 4}, side{2, device, devicePitch}, width, height))
	c.want(1, "cuMemcpy2D_v2", c.rows(side{1, host, hostPitch}, side{2, device + 1, devicePitch}, devicePitch, height))
}

// side is the source or destination of a copy of rows: memory type, address, pitch.
type side struct{ kind, address, pitch uint64 }

func (c *caller) rows(from, to side, width, height uint64) uint64 {
	c.t.Helper()
	var b []byte
	for _, s := range []side{from, to} {
		for _, word := range []uint64{0, 0, s.kind, s.address, s.address, 0, s.pitch} {
			b = binary.LittleEndian.AppendUint64(b, word)
		}
	}
	b = binary.LittleEndian.AppendUint64(b, width)
	at := c.alloc(len(b) + 8)
	c.write(at, binary.LittleEndian.AppendUint64(b, height))
	return at
}

// Event times reflect the work between events, and two streams overlap.
func TestTimes(t *testing.T) {
	c := start(t, "").open(0)
	const size = 50_000_000 // a millisecond over the bus
	host, device := c.get("cuMemHostAlloc", size, 0), c.get("cuMemAlloc_v2", size)
	streams := []uint64{c.get("cuStreamCreate", nonBlocking), c.get("cuStreamCreate", nonBlocking)}
	var events []uint64
	record := func(stream uint64) {
		events = append(events, c.get("cuEventCreate", 0))
		c.must("cuEventRecord", events[len(events)-1], stream)
	}
	record(streams[0])
	c.must("cuMemcpyHtoDAsync_v2", device, host, size, streams[0])
	record(streams[0])
	c.must("cuMemcpyHtoDAsync_v2", device, host, size, streams[1]) // waits for the bus
	record(streams[1])
	c.must("cuMemcpyDtoHAsync_v2", host, device, size, streams[0]) // goes the other way meanwhile
	record(streams[0])
	third := c.get("cuStreamCreate", nonBlocking)
	c.must("cuStreamWaitEvent", third, events[3], 0)
	record(third)
	c.want(600, "cuEventElapsedTime", c.alloc(4), events[0], events[1])
	c.must("cuCtxSynchronize")
	for i, want := range []float64{1, 2, 2, 2} {
		if got := c.elapsed(events[0], events[i+1]); math.Abs(got-want) > 0.05 {
			t.Errorf("event %d comes after %.3f ms, want about %g", i+1, got, want)
		}
	}
	untimed := c.get("cuEventCreate", 2)
	c.must("cuEventRecord", untimed, streams[0])
	c.want(400, "cuEventElapsedTime", c.alloc(4), events[0], untimed)
	c.want(400, "cuEventElapsedTime", c.alloc(4), events[0], c.get("cuEventCreate", 0))
}

func (c *caller) elapsed(from, to uint64) float64 {
	c.t.Helper()
	at := c.alloc(4)
	c.must("cuEventElapsedTime", at, from, to)
	return float64(number(wordsOf(c.read(at, 4))[0]))
}

// A slow kernel takes its time from the launch on, and blocks only threads that wait for it.
func TestSlow(t *testing.T) {
	c := start(t, "slow=300ms").open(0)
	b := c.buffers()
	began := time.Now()
	c.filter(b)
	c.copyOut(b)
	c.want(600, "cuStreamQuery", b.stream)
	c.want(600, "cuStreamQuery", b.stream)
	c.begin("cuStreamSynchronize", b.stream)
	c.on(1).must("cuCtxSetCurrent", c.on(1).get("cuDevicePrimaryCtxRetain", 0))
	c.on(1).get("cuMemAlloc_v2", 100)
	if d := time.Since(began); d > 250*time.Millisecond {
		t.Skipf("this machine is too busy: three calls took %v", d)
	}
	if c.end() != "0" {
		t.Error("the stream failed")
	}
	if d := time.Since(began); d < 300*time.Millisecond {
		t.Errorf("the kernel took %v", d)
	}
}
