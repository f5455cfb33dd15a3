package media

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
)

// damageSeeds are the files to damage, by their names in inputs, wholes, rareSeeds and joinedSeeds.
// A short run takes the first of them: containers and codecs with different indexes, headers and
// checks.
var damageSeeds = slices.Concat([]string{
	"h264.mp4", "h264-open.mp4", "h264-422.mov", "h264-444.mkv", "h264.ts", "h264.m2ts", "h264.flv", "h264.h264", "h264.nut", "h264.avi",
	"hevc.mp4", "hevc.mkv", "hevc.hevc", "av1.mp4", "av1.mkv", "vp8.webm", "vp9.webm", "mpeg1.mpg", "mpeg2.ts", "mpeg4.mp4", "mpeg4.avi",
	"mjpeg.mov", "mjpeg.avi", "ffv1.mkv", "raw.y4m", "huffyuv.avi", "theora.ogg", "gif.gif", "wmv2.wmv", "h263.3gp",
	"fragments.mp4", "mpeg2.mxf", "vp8.ivf", "flv1.flv", "bare.m2v", "animated.apng",
	"av1.ivf", "av1.obu", "bare.m4v", "bare.mjpeg", "sound.dv", "dv.avi", "interlaced.ts", "interlaced.mkv", "open-hevc.mp4", "open-mpeg2.ts",
	"vfr-fragments.mp4", "stream.mkv", "prores.mov", "dnxhr.mxf", "msmpeg4.avi", "ffv1-422.avi", "raw.nut", "mpeg2.mpg", "vp9-444.mkv",
}, names(rareSeeds), names(joinedSeeds))

const (
	qcif = "-f lavfi -i testsrc2=s=176x144:r=25:d=0.4 " // the only size of some codecs
	x265 = "-c:v libx265 -preset ultrafast -x265-params log-level=none:pools=1 "
)

type damageSeed struct {
	name  string
	parts []string // arguments of ffmpeg: one for the whole file, or one for each part to be joined
	copy  bool     // joined bare, then copied into the container
}

func names(list []damageSeed) (n []string) {
	for _, s := range list {
		n = append(n, s.name)
	}
	return n
}

func rare(name, args string) damageSeed { return damageSeed{name: name, parts: []string{args}} }

// rareSeeds are the codecs and containers that no other test makes. Those called sound are written
// as MP4, so that their audio is decoded.
var rareSeeds = []damageSeed{
	rare("h261.avi", qcif+"-c:v h261"),
	rare("bare.h261", qcif+"-c:v h261"),
	rare("bare.h263", qcif+"-c:v h263"),
	rare("h263p.avi", qcif+"-c:v h263p"),
	rare("wmv1.asf", both+"-c:v wmv1 -c:a wmav1"),
	rare("msmpeg4v2.avi", pictures+"-c:v msmpeg4v2"),
	rare("rv10.rm", qcif+tone+"-c:v rv10 -c:a ac3"),
	rare("rv20.rm", qcif+"-c:v rv20"),
	rare("svq1.mov", qcif+"-c:v svq1"),
	rare("cinepak.avi", pictures+"-c:v cinepak"),
	rare("cfhd.mov", pictures+"-c:v cfhd -pix_fmt yuv422p10le"),
	rare("utvideo.avi", pictures+"-c:v utvideo -pix_fmt yuv422p"),
	rare("ffvhuff.mkv", pictures+"-c:v ffvhuff -pix_fmt yuv444p"),
	rare("magicyuv.avi", pictures+"-c:v magicyuv -pix_fmt yuv422p"),
	rare("v210.mov", pictures+"-c:v v210 -pix_fmt yuv422p10le"),
	rare("v308.mov", pictures+"-c:v v308 -pix_fmt yuv444p"),
	rare("v408.mov", pictures+"-c:v v408 -pix_fmt yuva444p"),
	rare("v410.mov", pictures+"-c:v v410 -pix_fmt yuv444p10le"),
	rare("qtrle.mov", pictures+"-c:v qtrle"),
	rare("rpza.mov", qcif+"-c:v rpza"),
	rare("msvideo1.avi", pictures+"-c:v msvideo1"),
	rare("zmbv.avi", pictures+"-c:v zmbv"),
	rare("flashsv.flv", pictures+"-c:v flashsv"),
	rare("flashsv2.flv", pictures+"-c:v flashsv2"),
	rare("snow.avi", pictures+"-c:v snow -strict -2"),
	rare("dirac.mkv", "-f lavfi -i testsrc2=s=96x64:r=25:d=0.4 -c:v vc2 -b:v 2M -strict -1"),
	rare("dirac.ts", "-f lavfi -i testsrc2=s=96x64:r=25:d=0.4 -c:v vc2 -b:v 2M"),
	rare("hap.mov", pictures+"-c:v hap"),
	rare("jpeg2000.mov", pictures+"-c:v jpeg2000"),
	rare("jpeg2000.mxf", pictures+"-c:v libopenjpeg -pix_fmt yuv420p"),
	rare("zlib.avi", pictures+"-c:v zlib"),
	rare("png.mov", pictures+"-c:v png"),
	rare("bmp.avi", pictures+"-c:v bmp"),
	rare("tiff.mkv", pictures+"-c:v tiff"),
	rare("targa.mov", pictures+"-c:v targa"),
	rare("pictures.ppm", pictures+"-c:v ppm -f image2pipe"),
	rare("pictures.pgmyuv", pictures+"-c:v pgmyuv -f image2pipe"),
	rare("pictures.png", pictures+"-c:v png -f image2pipe"),
	rare("pictures.bmp", pictures+"-c:v bmp -f image2pipe"),
	rare("pictures.qoi", pictures+"-c:v qoi -f image2pipe"),
	rare("mpeg2.gxf", "-f lavfi -i testsrc2=s=720x576:r=25:d=0.4 -c:v mpeg2video -pix_fmt yuv420p"),
	rare("mpeg2.wtv", both+yuv+"-c:v mpeg2video -c:a mp2"),
	rare("vp9.ivf", pictures+yuv+"-c:v libvpx-vp9 -cpu-used 8"),
	rare("vp9.mp4", pictures+yuv+"-c:v libvpx-vp9 -cpu-used 8"),
	rare("theora.nut", pictures+yuv+"-c:v libtheora"),
	rare("h264-10.mkv", pictures+h264+"-pix_fmt yuv420p10le"),
	rare("hevc-10.ts", both+x265+"-pix_fmt yuv420p10le -c:a aac"),
	rare("ffv1-10.nut", pictures+"-c:v ffv1 -pix_fmt yuv422p10le"),
	rare("alpha.mov", pictures+"-vf format=yuva444p10le -c:v prores_ks"),
	rare("sound-vorbis.mkv", both+h264+yuv+"-c:a libvorbis"),
	rare("sound-wma.asf", both+yuv+"-c:v msmpeg4 -c:a wmav2"),
	rare("sound-dca.ts", both+h264+yuv+"-c:a dca -strict -2"),
	rare("sound-truehd.mkv", both+h264+yuv+"-c:a truehd -strict -2"),
	rare("sound-adpcm.avi", both+yuv+"-c:v mpeg4 -c:a adpcm_ms"),
	rare("sound-wavpack.mkv", both+h264+yuv+"-c:a wavpack"),
	rare("sound-speex.ogv", pictures+"-f lavfi -i sine=r=16000:d=0.8 "+yuv+"-c:v libtheora -c:a libspeex"),
}

// join returns a seed whose parts, of 10 frames each, have these arguments in turn.
func join(name string, args ...string) damageSeed {
	s := damageSeed{name: name}
	for _, a := range args {
		s.parts = append(s.parts, part+a)
	}
	return s
}

func copied(s damageSeed) damageSeed { s.copy = true; return s }

const (
	part  = "-f lavfi -i testsrc2=s=96x64:r=25:d=0.4 "
	mpeg2 = "-c:v mpeg2video -pix_fmt yuv420p "
	jpeg  = "-c:v mjpeg -pix_fmt yuvj420p "
	svt   = "-c:v libsvtav1 -preset 12 -svtav1-params lp=1 "
	vp8   = "-c:v libvpx -deadline realtime -cpu-used 8 -pix_fmt yuv420p "
	mono  = "-f lavfi -i sine=d=0.4:r=48000 -c:a aac "
	low   = "-f lavfi -i sine=d=0.4:r=32000 -c:a aac "
	large = "-s 128x96 "
)

// joinedSeeds change in mid-stream.
var joinedSeeds = []damageSeed{
	join("join-size.ts", h264+yuv, h264+yuv+large, h264+yuv),
	join("join-depth.ts", x265+yuv, x265+"-pix_fmt yuv420p10le"),
	join("join-layout.ts", h264+yuv, h264+"-pix_fmt yuv422p", h264+"-pix_fmt yuv444p"),
	join("join-rate.ts", mono+h264+yuv, low+h264+yuv),
	join("join-channels.ts", mono+h264+yuv, mono+"-ac 2 "+h264+yuv),
	join("join-sound.ts", mono+h264+yuv, mono+"-c:a mp2 "+h264+yuv),
	join("join-codec.ts", mpeg2, h264+yuv),
	join("join-fields.ts", mpeg2, mpeg2+"-flags +ildct+ilme -top 1"),
	join("join-colour.ts", h264+yuv+"-colorspace bt709 -color_trc bt709", h264+yuv+"-colorspace bt2020nc -color_trc smpte2084"),
	join("join-profile.ts", h264+yuv+"-profile:v baseline", bframes+yuv),
	join("join-frame-rate.ts", h264+yuv, h264+yuv+"-vf setpts=PTS/2 -r 50"),
	join("join-size.mpg", mpeg2, mpeg2+large),
	join("join-size.h264", h264+yuv, h264+yuv+large),
	join("join-layout.h264", h264+yuv, h264+"-pix_fmt yuv444p"),
	join("join-depth.h264", h264+yuv, h264+"-pix_fmt yuv420p10le"),
	join("join-size.hevc", x265+yuv, x265+yuv+large),
	join("join-depth.hevc", x265+yuv, x265+"-pix_fmt yuv422p10le"),
	join("join-size.m2v", mpeg2, mpeg2+large),
	join("join-layout.m2v", mpeg2, mpeg2+"-pix_fmt yuv422p"),
	join("join-size.m4v", "-c:v mpeg4 ", "-c:v mpeg4 "+large),
	join("join-size.mjpeg", jpeg, jpeg+large),
	join("join-layout.mjpeg", jpeg, jpeg+"-pix_fmt yuvj444p"),
	join("join-size.ivf", vp8, vp8+large),
	join("join-layout.ivf", "-c:v libvpx-vp9 -cpu-used 8 "+yuv, "-c:v libvpx-vp9 -cpu-used 8 -pix_fmt yuv444p"),
	join("join-size.obu", svt+yuv, svt+yuv+large),
	join("join-depth.obu", svt+yuv, svt+"-pix_fmt yuv420p10le"),
	join("join-size.ogv", "-c:v libtheora "+yuv, "-c:v libtheora "+yuv+large),
	join("join-size.flv", h264+yuv, h264+yuv+large),
	copied(join("join-size.mkv", h264+yuv, h264+yuv+large)),
	copied(join("join-size.mp4", h264+yuv, h264+yuv+large)),
	copied(join("join-layout.mkv", jpeg, jpeg+"-pix_fmt yuvj444p")),
	copied(join("join-size.avi", jpeg, jpeg+large)),
	copied(join("join-size.mov", jpeg, jpeg+large)),
}

// seedFile is a whole file.
type seedFile struct {
	name    string
	data    []byte
	codec   string
	packets []place // of its video, in order, where the container leaves them in one piece
}

type place struct{ at, end int }

// seedsKept is a folder with seeds that were made before, for machines without the ffmpeg program.
var seedsKept = os.Getenv("VIDFILTER_SEEDS")

// keptSeed holds a seed's properties from ffmpeg.
type keptSeed struct {
	Frames   int
	Pictures []string
	Codec    string
	Packets  [][2]int
}

// TestKeepSeeds makes the seeds for a machine without ffmpeg, in the folder VIDFILTER_SEEDS.
func TestKeepSeeds(t *testing.T) {
	if seedsKept == "" {
		t.Skip("for scripts/bundle.sh")
	}
	e2e.NeedsFFmpeg(t)
	for _, name := range damageSeeds {
		w := makeSeed(t, name)
		k := keptSeed{Frames: w.frames, Pictures: w.pictures, Codec: w.codec}
		for _, p := range w.packets {
			k.Packets = append(k.Packets, [2]int{p.at, p.end})
		}
		b, err := json.Marshal(k)
		e2e.Must(t, err)
		e2e.Put(t, filepath.Join(seedsKept, name), w.data)
		e2e.Put(t, filepath.Join(seedsKept, name+".json"), b)
	}
}

// wholeSeed returns a seed and the ways to damage it.
func wholeSeed(t *testing.T, name string) *wholeFile {
	t.Helper()
	var w *wholeFile
	if seedsKept == "" {
		w = makeSeed(t, name)
	} else {
		var k keptSeed
		path := filepath.Join(seedsKept, name)
		e2e.Must(t, json.Unmarshal(e2e.Read(t, path+".json"), &k))
		w = &wholeFile{seedFile: seedFile{name: name, data: e2e.Read(t, path), codec: k.Codec}, frames: k.Frames, pictures: k.Pictures}
		for _, p := range k.Packets {
			w.packets = append(w.packets, place{p[0], p[1]})
		}
	}
	w.mutations = mutationsOf(w.seedFile)
	return w
}

// makeSeed makes a seed, and counts its frames.
func makeSeed(t *testing.T, name string) *wholeFile {
	t.Helper()
	path, parts := seedPath(t, name)
	pictures, said := decodedHashes(path)
	w := &wholeFile{seedFile: seedFile{name: name, data: e2e.Read(t, path)}, frames: len(pictures), pictures: pictures}
	if parts > 1 {
		w.frames = 10 * parts // though ffmpeg may decode fewer
	} else if len(pictures) < 4 || said != "" && !strings.Contains(said, "first frame is no keyframe") {
		t.Fatalf("%s: %d pictures: %s", name, len(pictures), said)
	}
	w.codec, w.packets = findPackets(t, path, w.data)
	return w
}

// seedPath makes the file of a seed and counts its parts.
func seedPath(t *testing.T, name string) (path string, parts int) {
	t.Helper()
	i := slices.IndexFunc(joinedSeeds, func(s damageSeed) bool { return s.name == name })
	if i < 0 {
		return clip(t, name, seedArgs(name)), 1
	}
	s := joinedSeeds[i]
	if !s.copy {
		return put(t, name, joinParts(t, s, filepath.Ext(name))), len(s.parts)
	}
	bare := ".h264"
	if strings.Contains(s.parts[0], "mjpeg") {
		bare = ".mjpeg"
	}
	put(t, "bare-"+name+bare, joinParts(t, s, bare))
	return clip(t, name, "-i @bare-"+name+bare+" -c copy"), len(s.parts)
}

func joinParts(t *testing.T, s damageSeed, ending string) (data []byte) {
	t.Helper()
	headers := map[string]int{".ivf": 32, ".flv": 13} // that the later parts lose
	for i, args := range s.parts {
		if ending == ".ts" {
			args += fmt.Sprintf(" -output_ts_offset %g -muxdelay 0", 5+0.4*float64(i))
		}
		p := e2e.Read(t, clip(t, fmt.Sprintf("part-%d-%s%s", i, s.name, ending), args))
		if i > 0 {
			p = p[headers[ending]:]
		}
		data = append(data, p...)
	}
	return data
}

func seedArgs(name string) string {
	for _, w := range wholes {
		if w.name == name && w.from == "" {
			return w.args
		}
	}
	for _, s := range rareSeeds {
		if s.name == name {
			return s.parts[0]
		}
	}
	return inputArgs(name)
}

// findPackets returns the codec of the video and the places of its packets.
func findPackets(t *testing.T, path string, data []byte) (codec string, packets []place) {
	t.Helper()
	list := run(t, "ffprobe", "-v", "quiet", "-select_streams", "V:0", "-show_entries", "packet=size:stream=codec_name", "-of", "csv=p=0", "file:"+path)
	all, err := exec.Command("ffmpeg", "-v", "quiet", "-nostdin", "-i", "file:"+path, "-map", "0:V:0", "-c", "copy", "-f", "data", "pipe:1").Output()
	if err != nil {
		all = nil
	}
	from := 0
	for line := range strings.Lines(string(list)) {
		size, _, _ := strings.Cut(strings.TrimSpace(line), ",")
		n, err := strconv.Atoi(size)
		if err != nil && size != "" {
			codec = size // the streams come last, or a second time in programs
		}
		if n <= 0 || n > len(all) {
			continue
		}
		if at := indexFrom(data, all[:n], from); at >= 0 {
			packets, from = append(packets, place{at, at + n}), at+n
		}
		all = all[n:]
	}
	return codec, packets
}

// keep writes a damaged file where it can be looked at.
func keep(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(os.TempDir(), "damaged-"+name)
	e2e.Must(t, os.WriteFile(path, data, 0o600))
	return path
}
