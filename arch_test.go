// Package vidfilter_test holds the tests of the module as a whole.
package vidfilter_test

import (
	"errors"
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
)

const module = "vidfilter"

const (
	astiav = "github.com/asticode/go-astiav"
	cu     = "gorgonia.org/cu"
	sys    = "golang.org/x/sys"
	yaml   = "github.com/goccy/go-yaml"
	pflag  = "github.com/spf13/pflag"
	cobra  = "github.com/spf13/cobra"
	minio  = "github.com/minio/minio-go"
	nats   = "github.com/nats-io"
	socket = "github.com/coder/websocket"
	pion   = "github.com/pion"
	media  = "github.com/bluenviron/mediacommon"
	rtsp   = "github.com/bluenviron/gortsplib"

	chromedp = "github.com/chromedp"
)

// rule describes the packages of one folder: its line in ARCHITECTURE.md, and the imports allowed
// beside the standard library. Packages of this module are given by folder, others by path (with
// all below it), cgo as "C".
type rule struct {
	folder  string // "x/..." is x and everything below it
	what    string
	imports []string
	tests   []string // further imports of its tests, from outside the module
	why     string   // the reason for its imports
}

// The layers, from the lowest.
var rules = []rule{
	{folder: "pipeline", what: "frames, pools and stages; knows no codec and no device",
		why: "everything builds on it: it must compile and be tested anywhere, with no codec, device or C compiler"},
	{folder: "pipeline/quality", what: "PSNR and SSIM",
		imports: []string{"pipeline"},
		why:     "it measures frames and judges the backends, so it depends on none of them"},
	{folder: "kernels", what: "the filters: options, Go reference, CPU backend, list of CUDA kernels",
		imports: []string{"denoise", "denoise/cpu", "denoise/noise", "denoise/plane", "interlace", "interlace/cpu", "internal/isa", "pipeline", "C"},
		why:     "filters see frames only: whatever the codec, the same samples come out"},
	{folder: "kernels/chaintest", what: "for tests: chains of the filters of a backend",
		imports: []string{"denoise/denoisetest", "internal/e2e", "kernels", "pipeline"},
		why:     "the tests of every backend import it"},
	{folder: "kernels/kerneltest", what: "for tests: frames, and how far results may differ",
		imports: []string{"pipeline", "samples/scene"},
		why:     "the tests of every backend import it, those of kernels too"},
	{folder: "kernels/mkptx", what: "compiles the CUDA kernels to PTX",
		imports: []string{"denoise/device", "gpu/surface", "interlace/device", "kernels", "lab/papers"},
		why:     "compiles the lists of kernels, whatever is in them"},
	{folder: "denoise", what: "the denoiser: settings and Go reference",
		imports: []string{"denoise/fusion", "denoise/motion", "denoise/noise", "denoise/plane", "pipeline"},
		why:     "the definition that the forms for the CPU and the GPU are held to: it needs neither"},
	{folder: "denoise/cpu", what: "the denoiser on the CPU: C with SIMD",
		imports: []string{"denoise", "denoise/fusion", "denoise/motion", "denoise/noise", "denoise/plane", "internal/isa", "pipeline", "C"},
		why:     "filters frames on whatever workers it is given: kernels imports it"},
	{folder: "denoise/device", what: "the denoiser's CUDA kernels and their launches",
		imports: []string{"denoise", "denoise/fusion", "denoise/motion", "denoise/noise", "denoise/plane", "kernels", "pipeline", "C"},
		why:     "plans work as the kernels' own forms do: the device is the caller's"},
	{folder: "denoise/plane", what: "planes of samples of any depth",
		imports: []string{"pipeline"},
		why:     "the reference's parts read planes, whatever frames they came in"},
	{folder: "denoise/motion", what: "the motion search, in integers",
		imports: []string{"denoise/plane"},
		why:     "matches planes, and knows nothing of what is done with the vectors"},
	{folder: "denoise/denoisetest", what: "for tests: moving textures and noise",
		imports: []string{"denoise/plane", "pipeline", "samples/scene"},
		why:     "the tests of every form of the denoiser import it"},
	{folder: "denoise/enginetest", what: "for tests: engines that filter some frames, or other noise",
		imports: []string{"denoise", "denoise/noise", "pipeline"},
		why:     "the tests of the forms import it; those of denoise cannot"},
	{folder: "denoise/fusion", what: "averages matching patches and shrinks the noise that is left",
		imports: []string{"denoise/motion", "denoise/plane"},
		why:     "filters by the model and the vectors it is given"},
	{folder: "denoise/grain", what: "describes the noise that was removed as film grain for AV1",
		imports: []string{"denoise/plane", "internal/linear", "pipeline"},
		why:     "goes by frames before and after: whatever the filter"},
	{folder: "denoise/noise", what: "measures noise: level, spectrum, curve, scenes",
		imports: []string{"denoise/plane", "internal/linear", "pipeline", "C"},
		why:     "a measurement of pictures: it knows neither the filter that uses it nor where they come from"},
	{folder: "interlace", what: "makes progressive frames of fields: filter and Go reference",
		imports: []string{"denoise/motion", "denoise/plane", "pipeline"},
		why:     "the definition that the forms for the CPU and the GPU are held to: it needs neither"},
	{folder: "interlace/learn", what: "learns the deinterlacer's tables from progressive video",
		imports: []string{"decode", "denoise/plane", "interlace", "kernels", "pipeline"},
		why:     "a program of its own: it reads clips"},
	{folder: "interlace/device", what: "the deinterlacer's CUDA kernels and their launches",
		imports: []string{"denoise/device", "denoise/plane", "interlace", "kernels", "C"},
		why:     "plans work as the denoiser's does: the device is the caller's"},
	{folder: "interlace/cpu", what: "frames of fields on the CPU: C with SIMD",
		imports: []string{"denoise/cpu", "denoise/motion", "denoise/plane", "interlace", "internal/isa", "pipeline", "C"},
		why:     "works on whatever workers and memory it is given: kernels imports it"},
	{folder: "enhance", what: "plain options as graphs in FFmpeg's syntax; finds black bars, and aligns chroma",
		imports: []string{"denoise/plane", "internal/hint", "pipeline"},
		why:     "texts and numbers only: others run the graphs, and read the frames"},
	{folder: "deflicker", what: "steadies the brightness of a scene",
		imports: []string{"denoise/plane", "internal/linear", "kernels", "pipeline"},
		why:     "registers an option, and filters frames in the host's memory: whatever the backend"},
	{folder: "internal/text", what: "sizes, times, tables and spelling suggestions for people",
		imports: []string{"golang.org/x/text"},
		why:     "the same words everywhere: it knows nothing of their subject"},
	{folder: "internal/rate", what: "speeds and the time left, of a job and of a batch",
		why: "numbers only: what they count is the caller's"},
	{folder: "internal/linear", what: "solves systems of linear equations",
		why: "numbers only: what they mean is the caller's"},
	{folder: "internal/isa", what: "the instruction sets of the C code",
		imports: []string{sys},
		why:     "both libraries of C kernels are compiled for them"},
	{folder: "internal/contract", what: "exit codes, progress and task kinds shared by processes",
		why: "both sides of a pipe import it, so it imports nothing"},
	{folder: "internal/hint", what: "advice on errors",
		why: "any package may give advice"},
	{folder: "internal/wake", what: "lets goroutines sleep, and wakes them: once, or every so often",
		why: "a few functions on channels, for any package"},
	{folder: "internal/machine", what: "the memory, cores and threads that this process may use",
		imports: []string{sys},
		why:     "reads files of the system and knows nothing of who uses it"},
	{folder: "internal/durable", what: "files that survive a power cut: sync, rename without replacing; locks, free space",
		imports: []string{sys},
		why:     "handles files and names, whatever is in them"},
	{folder: "internal/netfile", what: "files in S3-compatible stores and on web servers: looks up, lists, fetches, stores",
		imports: []string{"internal/contract", "internal/durable", "internal/hint", minio},
		tests:   []string{"github.com/johannesboyne/gofakes3"},
		why:     "the only importer of a store's client: it moves files, whatever is in them"},
	{folder: "internal/sandbox", what: "a child process that can reach its input and output only",
		imports: []string{"internal/contract", "internal/hint", "internal/machine", "github.com/elastic/go-seccomp-bpf", "github.com/landlock-lsm", sys},
		why:     "closes doors: it knows names of files and calls, and nothing of video"},
	{folder: "internal/units", what: "finds and places the metadata of coded frames: HDR, captions, timecodes",
		imports: []string{media},
		why:     "reads and writes bytes of H.264, HEVC and AV1: it needs neither FFmpeg nor frames"},
	{folder: "internal/units/unitstest", what: "for tests: units of each kind",
		imports: []string{"internal/units"},
		why:     "tests of every package that carries units import it"},
	{folder: "internal/av", what: "the parts of FFmpeg's C interface that go-astiav lacks",
		imports: []string{"internal/contract", "internal/units", "pipeline", "C", astiav},
		why:     "decode and encode share it; it knows neither"},
	{folder: "internal/fidelity", what: "the properties of files, and the losses of one against another",
		imports: []string{"encode/formats", "internal/av", "internal/contract", "internal/units", "pipeline", "C"},
		why:     "describes any open file by one table: decode and encode feed it, and it knows neither"},
	{folder: "decode", what: "FFmpeg in: files, pipes, cameras and pictures become frames",
		imports: []string{"internal/av", "internal/contract", "internal/fidelity", "internal/machine", "internal/text", "internal/units", "pipeline", "C", astiav, sys},
		why:     "FFmpeg's boundary on the way in; it gets its memory through pipeline's interfaces, from any backend"},
	{folder: "decode/testcamera", what: "for tests: fake cameras to plug, unplug and corrupt",
		imports: []string{"internal/e2e"},
		why:     "tests of every package and of the built program use it"},
	{folder: "encode/formats", what: "the table of output files, without cgo",
		imports: []string{"golang.org/x/text"},
		why:     "packages that do without FFmpeg read it, too"},
	{folder: "encode/target", what: "the place of an output: temporary file, rename, the sandbox's broker",
		imports: []string{"internal/contract", "internal/durable", "internal/hint", "internal/netfile", "internal/sandbox", sys},
		why:     "puts a complete file under its name, whatever wrote it: no codec, and no cgo"},
	{folder: "encode/audio", what: "codes sound that a file cannot hold as AAC, FLAC, PCM or Opus",
		imports: []string{"C", "encode/formats", "internal/av", astiav},
		why:     "packets in, packets out: it knows neither files nor pictures"},
	{folder: "encode/spec", what: "what the parts of an output share: options, input, the first frame's description",
		imports: []string{"encode/formats", "internal/fidelity", "pipeline", astiav},
		why:     "the parts of an output meet here alone: no cgo, no codec, no file"},
	{folder: "encode/side", what: "puts captions, HDR, timecodes, Dolby Vision and grain into coded packets",
		imports: []string{"C", "encode/formats", "encode/spec", "internal/av", "internal/units", "pipeline", astiav},
		why:     "works on any encoder's packets: it knows no encoder and no file"},
	{folder: "encode/mux", what: "writes packets to a file: streams, header, times, the check of the result",
		imports: []string{"C", "encode/audio", "encode/formats", "encode/spec", "encode/target", "internal/av", "internal/fidelity", "internal/hint", "internal/text", "internal/units", "pipeline", astiav, sys},
		why:     "knows packets and streams, and no encoder of pictures"},
	{folder: "encode/video", what: "the encoders: table, options, checks; frames become packets",
		imports: []string{"C", "encode/formats", "encode/mux", "encode/side", "encode/spec", "encode/target", "internal/av", "internal/contract", "internal/fidelity", "internal/hint", "internal/machine", "internal/text", "internal/units", "pipeline", astiav},
		why:     "asks the muxer whether a file holds its video, and gives it packets through a function"},
	{folder: "encode", what: "FFmpeg out: joins encoder and muxer to a verified output",
		imports: []string{"encode/mux", "encode/spec", "encode/target", "encode/video", "internal/av", "internal/contract", "internal/fidelity", "internal/hint", "pipeline", astiav},
		why:     "FFmpeg's boundary on the way out; inputs can be anything, so it does not know decode"},
	{folder: "gpu", what: "the CUDA backend: devices, pinned memory, streams",
		imports: []string{"C", "denoise", "denoise/device", "denoise/noise", "denoise/plane", "gpu/surface", "interlace", "interlace/device", "internal/contract", "internal/machine", "kernels", "pipeline", cu},
		why:     "the only importer of cu, which loads a driver: everything else must run where there is none"},
	{folder: "gpu/surface", what: "makes frames of a hardware decoder's surfaces: CUDA kernel and launches",
		imports: []string{"kernels", "pipeline"},
		why:     "plans work as the kernels' own forms do: the device is the caller's"},
	{folder: "gpu/libcuda", what: "linked in the CUDA driver's place, and a cuda.h of our own; C",
		why: "its tests look at what the linker sees"},
	{folder: "gpu/testdriver", what: "for tests: a CUDA driver that runs the kernels on the CPU",
		imports: []string{"internal/e2e"},
		why:     "tests of every package and of the built program use it"},
	{folder: "graph", what: "graphs of FFmpeg's filters as a stage",
		imports: []string{"internal/av", "internal/contract", "internal/hint", "internal/machine", "internal/text", "internal/units", "pipeline", "C", astiav},
		why:     "FFmpeg's boundary in the middle: frames in, frames out, and it knows neither decode nor encode"},
	{folder: "batch", what: "a batch's requests and results: job files, names, records, reports",
		imports: []string{"encode/formats", "internal/cli", "internal/contract", "internal/durable", "internal/hint", "internal/netfile", "internal/text", pflag, yaml},
		tests:   []string{"github.com/santhosh-tekuri/jsonschema"},
		why:     "knows the request and the outcome, and runs nothing: no codec, device or queue"},
	{folder: "batch/queue", what: "the queue's interface",
		why: "engines implement it and tasks use it: it knows no engine and no video"},
	{folder: "batch/queue/jetstream", what: "the queue on NATS JetStream: embedded, served or in a cluster",
		imports: []string{"batch/queue", "batch/queue/jetstream/pki", "internal/contract", "internal/durable", "internal/hint", "internal/wake", nats},
		why:     "the only importer of NATS, so that another engine can replace it"},
	{folder: "batch/queue/jetstream/pki", what: "keys, certificates and accounts of a server",
		imports: []string{"internal/durable", "internal/hint", nats},
		why:     "keys by themselves can be reviewed by themselves"},
	{folder: "batch/tasks", what: "runs tasks as child processes; submits jobs and follows them",
		imports: []string{"batch", "batch/queue", "internal/contract", "internal/durable", "internal/machine", "internal/netfile", "internal/sandbox", "internal/wake"},
		tests:   []string{pflag},
		why:     "runs the program on the tasks of any queue: it links no codec and knows no engine"},
	{folder: "batch/tally", what: "sums over a queue: progress, speed, time left",
		imports: []string{"batch/queue", "internal/contract", "internal/rate", "internal/text"},
		why:     "the terminal and the status page must show the same numbers"},
	{folder: "batch/display", what: "a batch on the terminal, as log lines, as JSON",
		imports: []string{"batch/queue", "batch/tally", "internal/terminal", "internal/contract", "internal/text"},
		why:     "shows what it is told of a queue, on any screen"},
	{folder: "batch/status", what: "the status page of a queue, and metrics for Prometheus",
		imports: []string{"batch/queue", "batch/tally", "internal/rate", "internal/site", "internal/text", "golang.org/x/sync"},
		why:     "strangers can reach it: no codec, device or file lies behind it"},
	{folder: "internal/site", what: "the HTTP server of both pages: headers, checks of host, origin and tokens",
		imports: []string{"internal/wake"},
		why:     "strangers reach it first: it serves and refuses, and knows nothing of what is behind it"},
	{folder: "internal/cli", what: "options of the command line: flags, environment, values, advice",
		imports: []string{"internal/contract", "internal/hint", "internal/text", pflag},
		why:     "no codec, device or queue, so that every command can use it"},
	{folder: "internal/terminal", what: "a terminal's messages, progress and signals",
		imports: []string{"internal/cli", "internal/contract", "internal/hint", "internal/rate", "internal/sandbox", "internal/text", "internal/wake", "golang.org/x/term", sys},
		why:     "no codec, device or queue, so that every command can use it"},
	{folder: "live", what: "sessions: newest frame in, original and filtered pair out",
		imports: []string{"decode", "denoise", "denoise/noise", "internal/hint", "internal/wake", "kernels", "live/sound", "pipeline", "pipeline/quality", "samples/scene", astiav},
		why:     "takes and filters pictures on any backend, and knows neither viewers nor transports"},
	{folder: "live/sound", what: "the sound of a session: tracks and packets",
		imports: []string{"internal/av", astiav},
		why:     "sources, recordings and transports share it: it knows none of them"},
	{folder: "live/access", what: "the rights and the list of a session's viewers",
		imports: []string{"internal/site"},
		why:     "every transport asks it: it knows none of them"},
	{folder: "live/coded", what: "encodes each frame once for all viewers that want the same",
		imports: []string{"internal/units", "internal/wake", "live", "live/preview", "pipeline", media},
		why:     "one encoder for all outputs: it knows none of them"},
	{folder: "live/opus", what: "the sound as one stream of Opus for any number of readers",
		imports: []string{"encode/audio", "live", "live/sound", astiav},
		why:     "one coder for all transports: it knows none of them"},
	{folder: "live/output", what: "filtered frames for other programs: y4m through a pipe, a virtual camera",
		imports: []string{"internal/av", "live", "pipeline", "C"},
		why:     "writes what a session shows to descriptors that it is given"},
	{folder: "live/rtsp", what: "an RTSP server for players",
		imports: []string{"internal/site", "live/access", "live/coded", "live/opus", rtsp},
		tests:   []string{pion},
		why:     "the only importer of the library, which takes strangers' requests: it runs with --rtsp only"},
	{folder: "live/preview", what: "encodes frames for viewers: H.264, JPEG",
		imports: []string{"encode/spec", "encode/video", "internal/av", "internal/units", "pipeline", "C", astiav},
		why:     "knows neither the source of a picture nor its transport"},
	{folder: "live/record", what: "recordings",
		imports: []string{"encode", "encode/formats", "encode/spec", "encode/target", "encode/video", "graph", "internal/av", "live/sound", "pipeline", astiav, sys},
		why:     "writes frames as they come, from any source"},
	{folder: "live/livetest/sessions", what: "for tests: runs live sessions",
		imports: []string{"decode", "internal/e2e", "kernels", "live"},
		why:     "tests of live itself import live/livetest, so that cannot run sessions"},
	{folder: "live/livetest", what: "for tests: frames and sound to show and to record",
		imports: []string{"internal/e2e", "kernels", "pipeline", "samples/scene", astiav},
		why:     "imports none of the packages under test"},
	{folder: "live/web", what: "the page of a session and its socket",
		imports: []string{"internal/site", "internal/wake", "live", "live/access", "live/coded", "live/opus", "live/preview", "pipeline", socket},
		why:     "strangers can reach it: it shows a session, and touches no file, camera or device"},
	{folder: "live/rtc", what: "WebRTC: WHEP for players, WHIP for cameras",
		imports: []string{"internal/site", "internal/wake", "live", "live/access", "live/coded", "live/opus", "live/preview", pion},
		why:     "the only importer of pion, which is large and takes strangers' packets: it runs with --webrtc only"},
	{folder: "lab", what: "the papers' experiments, beside the papers' figures",
		imports: []string{"decode", "encode", "encode/formats", "encode/target", "encode/video", "gpu", "internal/text", "kernels", "lab/measure", "lab/papers", "lab/report", "pipeline", "samples/scene"},
		why:     "measures on pictures that it draws: no file and no codec"},
	{folder: "lab/papers", what: "the papers' systems: CUDA kernels, CPU programs",
		imports: []string{"kernels", "pipeline", "C"},
		why:     "plans work as the program's own forms do: the device is the caller's"},
	{folder: "lab/measure", what: "times, machine and its peak, check against the reference, busy filter",
		imports: []string{"C", "decode", "encode", "gpu", "internal/isa", "kernels", "pipeline", "samples/scene"},
		why:     "bench, lab and quality measure with it, and make their clips by the same encoder"},
	{folder: "lab/report", what: "reports as text and Markdown",
		imports: []string{"internal/text", "lab/measure"},
		why:     "lays out numbers and measures nothing"},
	{folder: "lab/bench", what: "vidfilter bench: denoiser, filters, kernels, copies, whole jobs, CPU, live, start",
		imports: []string{"decode", "denoise/motion", "encode", "gpu", "internal/machine", "internal/text", "kernels", "lab/measure", "lab/report", "live", "live/preview", "pipeline", "repair", "samples/scene"},
		why:     "measures the parts together"},
	{folder: "lab/quality", what: "the denoiser beside ffmpeg's, on clips with noise",
		imports: []string{"decode", "denoise", "denoise/cpu", "denoise/noise", "denoise/plane", "encode", "internal/isa", "internal/text", "kernels", "lab/measure", "lab/report", "pipeline", "pipeline/quality", "samples/scene", "golang.org/x/sync"},
		why:     "measures what comes out of whole filters, codecs before and after them too"},
	{folder: "repair", what: "replaces dirt and dropouts from the frames around: Go reference, C with SIMD",
		imports: []string{"denoise", "denoise/cpu", "denoise/motion", "denoise/plane", "internal/isa", "kernels", "pipeline", "C"},
		why:     "a filter with its option, on the CPU: whoever imports it has them"},
	{folder: "internal/stages", what: "filters around the main one, mostly of FFmpeg: --before, --crop, ... --after",
		imports: []string{"deflicker", "enhance", "graph", "internal/hint", "internal/text", "kernels", "pipeline"},
		why:     "registers options that become graphs: whoever imports it has them"},
	{folder: "internal/filters", what: "the options of filters as flags, and the device, for jobs, live and the library",
		imports: []string{"gpu", "internal/cli", "internal/hint", "kernels", pflag},
		why:     "the library shares it, which has no FFmpeg"},
	{folder: "internal/app/job", what: "one job: options, input, filter, output, exit code",
		imports: []string{"decode", "denoise", "denoise/grain", "denoise/noise", "encode", "encode/formats", "encode/spec", "encode/target", "encode/video", "enhance", "gpu", "interlace", "internal/av", "internal/cli", "internal/contract", "internal/fidelity", "internal/filters", "internal/hint", "internal/machine", "internal/netfile", "internal/sandbox", "internal/stages", "internal/terminal", "kernels", "pipeline", "pipeline/quality", "repair", astiav, pflag},
		why:     "filters one file: it starts no queue and no live session"},
	{folder: "internal/licenses", what: "the licences of everything that is linked into the program",
		why: "a text, for one command"},
	{folder: "internal/licenses/gather", what: "writes the text of internal/licenses",
		why: "a program for developers: the text must not change with the machine that builds"},
	{folder: "internal/app/preview", what: "writes the page of vidfilter preview",
		why: "takes pictures and words, whatever made them"},
	{folder: "internal/app/batchrun", what: "connects a batch with its queue and screen",
		imports: []string{"batch", "batch/display", "batch/queue", "batch/queue/jetstream", "batch/queue/jetstream/pki", "batch/status", "batch/tally", "batch/tasks", "decode", "encode", "encode/formats", "encode/target", "gpu", "internal/cli", "internal/contract", "internal/durable", "internal/filters", "internal/hint", "internal/app/job", "internal/machine", "internal/netfile", "internal/sandbox", "internal/site", "internal/terminal", "internal/text", "internal/wake", "golang.org/x/sync", pflag},
		why:     "other processes filter the files"},
	{folder: "internal/app/liverun", what: "connects a session with its source and viewers",
		imports: []string{"batch", "decode", "encode/target", "gpu", "internal/cli", "internal/durable", "internal/filters", "internal/hint", "internal/app/job", "internal/sandbox", "internal/site", "internal/terminal", "internal/text", "kernels", "live", "live/access", "live/coded", "live/opus", "live/output", "live/record", "live/rtc", "live/rtsp", "live/web", pflag},
		why:     "knows of batches only their job files, and no queue"},
	{folder: "cmd/vidfilter", what: "the commands: options, terminal, signals, exit codes",
		imports: []string{"...", cobra, pflag},
		tests:   []string{"github.com/rogpeppe/go-internal", sys},
		why:     "puts the parts together, and nothing imports it"},
	{folder: "capi", what: "libvidfilter.so: the C interface, its header, plugins for VapourSynth and frei0r",
		imports: []string{"C", "capi/stream", "gpu", "internal/cli", "internal/contract", "internal/hint", "pipeline"},
		why:     "translates calls, frames and errors, and nothing imports it"},
	{folder: "capi/stream", what: "filters frames that a caller pushes",
		imports: []string{"enhance", "gpu", "internal/cli", "internal/contract", "internal/filters", "internal/hint", "internal/stages", "kernels", "pipeline", "repair", pflag},
		why:     "what the C library does, in Go: no codec and no file"},
	{folder: "samples/...", what: "the sample clips, the program that draws them, and scenes for lab and tests",
		imports: []string{"pipeline", "samples/...", "golang.org/x/sync"},
		why:     "draws frames and knows nothing of what is done with them, so that tests of any package can use it"},
	{folder: "internal/e2e", what: "for tests from outside: builds the program, makes clips, waits",
		why: "the tests below share it: sharing code with the program would hide the program's mistakes"},
	{folder: "internal/e2e/batch", what: "tests of batches, killed, stopped and with full disks",
		why: "tests of the built program"},
	{folder: "internal/e2e/chrome", what: "for tests: pages in a headless Chromium, and axe",
		imports: []string{"internal/e2e", chromedp},
		why:     "the tests of both pages import it"},
	{folder: "internal/e2e/faults", what: "tests in which one call that changes a file fails",
		why: "tests of the built program; a filter of system calls is in C, beside them"},
	{folder: "internal/e2e/fleet", what: "tests of serve, workers and batches together, and of deploy/",
		tests: []string{chromedp, nats, yaml},
		why:   "tests of the built program; they look at the queue as any client could"},
	{folder: "internal/e2e/install", what: "tests of the packages in a fresh Debian",
		why: "tests of the built program"},
	{folder: "internal/e2e/live", what: "tests of live and its page in Chromium and Firefox",
		tests: []string{chromedp, socket},
		why:   "tests of the built program"},
	{folder: "internal/e2e/media", what: "tests over containers and codecs, against ffmpeg",
		tests: []string{astiav},
		why:   "tests of the built program, and of its decoder beside ffmpeg's"},
	{folder: "internal/e2e/library", what: "tests of the C library, its example and plugins",
		why: "tests of what make lib builds, beside the program"},
	{folder: "internal/e2e/reach", what: "tests of sources and outputs in stores and on web servers",
		tests: []string{"github.com/johannesboyne/gofakes3"},
		why:   "tests of the built program"},
	{folder: "internal/e2e/stage", what: "a test that adds a filter to the program",
		why: "a filter of its own would be in the table of options of every test beside it"},
	{folder: ".",
		why: "only tests of the tree itself"},
}

func ruleFor(folder string) (rule, bool) {
	i := slices.IndexFunc(rules, func(r rule) bool { return within(folder, r.folder) })
	if i < 0 {
		return rule{}, false
	}
	return rules[i], true
}

// within reports whether a folder matches a pattern, or lies below it if the pattern ends in "...".
func within(folder, pattern string) bool {
	base, below := strings.CutSuffix(pattern, "...")
	if !below {
		return folder == pattern
	}
	return strings.HasPrefix(folder+"/", base)
}

// check returns the reason a file of folder may not import a path, or nil.
func check(folder, imported string, inTest bool) error {
	r, ok := ruleFor(folder)
	if !ok {
		return fmt.Errorf("package %s has no rule in arch_test.go: write one, with the reason", folder)
	}
	inside, ours := strings.CutPrefix(imported, module+"/")
	first, _, _ := strings.Cut(imported, "/")
	switch {
	case ours && inTest && !within(inside, "cmd/..."):
		return nil // tests are in no program, and the compiler refuses circles
	case ours:
		if slices.ContainsFunc(r.imports, func(p string) bool { return within(inside, p) }) {
			return nil
		}
	case imported == "C" || strings.Contains(first, "."):
		allowed := r.imports
		if inTest {
			allowed = slices.Concat(r.imports, r.tests)
		}
		if slices.ContainsFunc(allowed, func(p string) bool { return p != "..." && within(imported, p+"/...") }) {
			return nil
		}
	default:
		return nil // the standard library
	}
	return fmt.Errorf("%s must not import %s: %s", folder, imported, r.why)
}

// source is a Go file with its imports.
type source struct {
	name, folder string
	imports      []string
	test         bool
}

// sources returns the Go files of the module, for all build tags.
func sources(t *testing.T) (all []source) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skipFolder(name)
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		s := source{name: name, folder: path.Dir(filepath.ToSlash(name)), test: strings.HasSuffix(name, "_test.go")}
		for _, spec := range f.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			s.imports = append(s.imports, imported)
		}
		all = append(all, s)
		return nil
	})
	e2e.Must(t, err)
	if len(all) < 10 {
		t.Fatalf("only %d files found: is this the top of the module?", len(all))
	}
	return all
}

func TestImports(t *testing.T) {
	for _, s := range sources(t) {
		for _, imported := range append(s.imports, "") {
			if err := check(s.folder, imported, s.test); err != nil {
				t.Errorf("%s: %v", s.name, err)
			}
		}
	}
}

// TestRulesAreUsed finds rules without a package, and allowed imports without a use.
func TestRulesAreUsed(t *testing.T) {
	all := sources(t)
	for _, r := range rules {
		if r.why == "" || r.what == "" && r.folder != "." {
			t.Errorf("the rule of %s lacks its description or reason", r.folder)
		}
		var used []string
		found := false
		for _, s := range all {
			if own, _ := ruleFor(s.folder); own.folder == r.folder {
				found = true
				used = append(used, s.imports...)
			}
		}
		if !found {
			t.Errorf("the rule of %s has no package: remove it", r.folder)
		}
		for _, p := range slices.Concat(r.imports, r.tests) {
			if !slices.ContainsFunc(used, func(u string) bool {
				inside, ours := strings.CutPrefix(u, module+"/")
				return p == "..." || ours && within(inside, p) || within(u, p+"/...")
			}) {
				t.Errorf("nothing in %s imports %s: take it out of the rule", r.folder, p)
			}
		}
	}
}

var update = flag.Bool("update", false, "write the table of packages in ARCHITECTURE.md")

const (
	tableBegin = "<!-- The table is written by: go test -run Architecture -update . -->\n"
	tableEnd   = "<!-- end of the table -->\n"

	pictureBegin = "<!-- The picture is drawn from the imports by: go test -run Architecture -update . -->\n"
	pictureEnd   = "<!-- end of the picture -->\n"
)

// TestArchitecture compares the picture and the table of ARCHITECTURE.md with imports and rules.
func TestArchitecture(t *testing.T) {
	const name = "ARCHITECTURE.md"
	data, err := os.ReadFile(name)
	e2e.Must(t, err)
	text := string(data)
	for _, part := range []struct{ begin, end, want string }{
		{pictureBegin, pictureEnd, "\n" + layered(roomImports(sources(t))) + "\n"},
		{tableBegin, tableEnd, packageTable()},
	} {
		before, rest, ok := strings.Cut(text, part.begin)
		_, after, closed := strings.Cut(rest, part.end)
		if !ok || !closed {
			t.Fatalf("%s lacks the lines %q and %q", name, part.begin, part.end)
		}
		text = before + part.begin + part.want + part.end + after
	}
	switch {
	case text == string(data):
	case *update:
		e2e.Must(t, os.WriteFile(name, []byte(text), 0o666))
	default:
		t.Errorf("%s differs from the imports or from arch_test.go: go test -run Architecture -update . writes it", name)
	}
}

func packageTable() string {
	var lines []string
	for _, r := range rules {
		if r.folder != "." {
			lines = append(lines, fmt.Sprintf("| `%s` | %s |\n", strings.TrimSuffix(r.folder, "/..."), r.what))
		}
	}
	slices.Sort(lines)
	return "| package | |\n| --- | --- |\n" + strings.Join(lines, "")
}

// skipFolder returns fs.SkipDir for folders the go command ignores, and for other modules.
func skipFolder(name string) error {
	base := filepath.Base(name)
	if name == "." {
		return nil
	}
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata" || base == "vendor" {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(name, "go.mod")); !errors.Is(err, fs.ErrNotExist) {
		return fs.SkipDir
	}
	return nil
}

// A job links neither the queue nor live, through any package.
func TestJobLinksNoServer(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "./internal/app/job").Output()
	e2e.Must(t, err)
	for _, p := range strings.Fields(string(out)) {
		for _, not := range []string{nats, pion, module + "/live", module + "/batch", module + "/lab"} {
			if within(p, not+"/...") {
				t.Errorf("internal/app/job links %s", p)
			}
		}
	}
}

func TestImportRules(t *testing.T) {
	for _, c := range []struct {
		folder, imported string
		test, ok         bool
	}{
		{"pipeline", "unsafe", false, true},
		{"pipeline", "encoding/json", false, true},
		{"pipeline", "C", false, false},
		{"pipeline", "vidfilter/pipeline/quality", false, false},
		{"pipeline", "vidfilter/pipeline/quality", true, true},
		{"pipeline", sys + "/unix", false, false},
		{"pipeline/quality", "vidfilter/pipeline", false, true},
		{"pipeline/quality", "vidfilter/pipeline/sub", false, false},
		{"pipeline/quality", "vidfilter/kernels", false, false},
		{"kernels", astiav, false, false},
		{"kernels", astiav, true, false},
		{"kernels", cu, false, false},
		{"kernels", "vidfilter/gpu", false, false},
		{"decode", astiav, false, true},
		{"decode", "vidfilter/encode", false, false},
		{"decode", "vidfilter/encode", true, true},
		{"encode/mux", sys + "/unix", false, true},
		{"encode/mux", sys + "2/unix", false, false},
		{"encode", "vidfilter/decode", false, false},
		{"batch", yaml, false, true},
		{"batch", "vidfilter/batch/queue", false, false},
		{"batch", "vidfilter/decode", false, false},
		{"batch", "vidfilter/encode", false, false},
		{"batch", "vidfilter/encode/formats", false, true},
		{"batch/tasks", "vidfilter/encode", false, false},
		{"encode/formats", "C", false, false},
		{"batch", "C", false, false},
		{"gpu", cu, false, true},
		{"gpu", cu + "/dnn", false, true},
		{"gpu", astiav, false, false},
		{"batch/queue", nats + "/nats.go", false, false},
		{"batch/queue/jetstream", nats + "/nats-server/v2/server", false, true},
		{"batch/queue/jetstream", "vidfilter/batch/queue", false, true},
		{"batch/queue/jetstream", "vidfilter/encode", false, false},
		{"samples/gen", "vidfilter/samples/scene", false, true},
		{"samples", "vidfilter/cmd/vidfilter", false, false},
		{"samples", "vidfilter/cmd/vidfilter", true, false},
		{"cmd/vidfilter", "vidfilter/gpu", false, true},
		{"cmd/vidfilter", "vidfilter/internal/anything", false, true},
		{"cmd/vidfilter", "github.com/spf13/cobra", false, true},
		{"cmd/vidfilter", astiav, false, false},
		{"internal/cli", "vidfilter/decode", false, false},
		{"internal/cli", "github.com/spf13/cobra", false, false},
		{"internal/app/job", "vidfilter/decode", false, true},
		{"internal/app/job", "vidfilter/internal/app/batchrun", false, false},
		{"cmd/vidfilter", cu, false, false},
		{"cmd/vidfilter", "github.com/rogpeppe/go-internal/testscript", false, false},
		{"cmd/vidfilter", "github.com/rogpeppe/go-internal/testscript", true, true},
		{"live/rtc", pion + "/webrtc/v4", false, true},
		{"live/rtc", "vidfilter/live/web", false, false},
		{"live/web", pion + "/webrtc/v4", false, false},
		{"live", pion + "/rtp", true, false},
		{"cmd/vidfilter", pion + "/webrtc/v4", false, false},
		{"batch/display", "vidfilter/batch/queue", false, true},
		{"batch/display", "vidfilter/batch/queue/jetstream", false, false},
		{"batch/status", "vidfilter/batch/tally", false, true},
		{"batch/status", "vidfilter/batch", false, false},
		{"cmd/other", "fmt", false, false},
		{"kernels/new", "fmt", false, false},
		{"samplesize", "fmt", false, false},
	} {
		if err := check(c.folder, c.imported, c.test); (err == nil) != c.ok {
			t.Errorf("%s importing %s (in a test: %v): %v", c.folder, c.imported, c.test, err)
		}
	}
}
