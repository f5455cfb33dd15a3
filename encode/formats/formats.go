// Package formats is the table of the files that the program can write. It is free of cgo, so that
// planning a batch does not need FFmpeg.
package formats

import (
	"cmp"
	"slices"
	"strings"

	"golang.org/x/text/language"
)

// Names of the formats that need one in code.
const (
	MP4  = "mp4"
	MOV  = "mov"
	MKV  = "matroska"
	TS   = "mpegts"
	WebM = "webm"
	MXF  = "mxf"
	Y4M  = "y4m"
	NUT  = "nut"
	Null = "null"
)

// Values of Format.Audio that name no codec.
const (
	Dropped = "none"
	PCM     = "pcm"
)

// Family groups formats that FFmpeg writes by the same rules.
type Family uint8

// The families.
const (
	None Family = iota // no output
	ISO                // MP4 and QuickTime
	Matroska
	Transport // MPEG-TS
	Broadcast // MXF
	Raw       // Y4M and NUT, for pipes to other programs
	Picture
)

// Format describes one kind of file.
type Format struct {
	Name    string   // FFmpeg's name of the muxer, unless muxer has it, or of a picture's encoder
	Names   []string // values of --format, the usual one first
	Endings []string // of file names, the usual one first
	// Sources are endings of inputs that become the first of Endings, since the program does not
	// write them. Those that are also in Accepted can still be given as the name of an output.
	Sources  []string
	Accepted []string
	Family   Family
	muxer    string // FFmpeg's name of it, if people use another one

	Recordable bool // live recordings can be written to it
	Parts      bool // parts of a video are made in it, and joined into any video format

	Codecs      []string // FFmpeg's names of the codecs that it has; nil: all that the muxer takes
	Layouts     []string // FFmpeg's names of the pixel formats that it has for raw video; nil: any
	Audio       string   // codec that other audio becomes; "" for AAC, Dropped drops it, PCM keeps samples
	Lossless    []string // codecs of other lossless audio, flac where it can; nil: as Audio
	Misread     []string // codecs of audio without loss that players misread in it: they become Lossless
	Text        string   // codec that other text subtitles become; "" drops them
	Attachments bool     // fonts and cover art are attached files
	NoCoverArt  bool     // the muxer takes cover art and then drops it
	Languages   bool     // languages have QuickTime's codes
	// ThreeLetters means that languages have codes of three letters only.
	ThreeLetters bool
	KeepsIDs     bool // streams keep their identifiers and programs
	KeepsClock   bool // times need not start near 0
	Untimed      bool // not each packet has a time
	OneRate      bool // pictures have a rate and no times
	Alone        bool // pictures are alone
	Orientation  bool // of a picture: it can store a rotation
}

// Muxer returns FFmpeg's name of the muxer.
func (f Format) Muxer() string {
	if f.Family == Picture {
		return "image2pipe"
	}
	return cmp.Or(f.muxer, f.Name)
}

// Video reports whether files of the format hold a video.
func (f Format) Video() bool { return f.Family != Picture && f.Family != None }

// All lists the formats. The first video format is the default of parts and recordings, Fallback
// the one that holds the most.
var All = []Format{
	{Name: MP4, Names: words("mp4"), Endings: words(".mp4 .m4v"), Sources: words(".3gp .3g2 .f4v"), Family: ISO,
		Recordable: true, Parts: true, Text: "mov_text", ThreeLetters: true,
		Lossless: words("flac pcm"), Misread: words("pcm_s16le pcm_s16be pcm_s24le pcm_s24be")},
	{Name: MOV, Names: words("mov"), Endings: words(".mov"), Sources: words(".qt"), Family: ISO,
		Recordable: true, Text: "mov_text", NoCoverArt: true, Languages: true, Lossless: words("pcm")},
	{Name: MKV, Names: words("mkv matroska"), Endings: words(".mkv"), Family: Matroska,
		Sources: words(".avi .divx .webm .mk3d .mpg .mpeg .mpe .m2p .m1v .m2v .mpv .vob .evo .wmv .asf .flv .ogv .ogm .mxf .gxf .dv" +
			" .rm .rmvb .nut .wtv .mjpeg .y4m .h264 .264 .avc .h265 .265 .hevc .ivf .obu .amv .mod .tod .dvr-ms"),
		Recordable: true, Text: "subrip", Attachments: true, Lossless: words("flac pcm"),
		// Of TTA, readers need the number of samples, which is nowhere in the file.
		Misread: words("tta")},
	// Sources are the streams of cameras, discs and receivers. The output is a plain stream with
	// packets of 188 bytes, so it does not keep their endings unless asked to.
	{Name: TS, Names: words("ts mpegts"), Endings: words(".ts"), Sources: words(".m2ts .mts .m2t .tp .trp"),
		Accepted: words(".m2ts .mts"), Family: Transport, Codecs: transportCodecs,
		KeepsIDs: true, KeepsClock: true, Untimed: true, ThreeLetters: true},
	// Inputs named .webm and .mxf hold more codecs than these: they become MKV unless asked
	// otherwise.
	{Name: WebM, Names: words("webm"), Endings: words(".webm"), Family: Matroska,
		Codecs: words("av1 vp8 vp9 opus vorbis webvtt"), Text: "webvtt", Audio: Dropped},
	{Name: MXF, Names: words("mxf"), Endings: words(".mxf"), Family: Broadcast,
		Codecs: words("dnxhd prores mpeg2video jpeg2000 dvvideo pcm_s16le pcm_s24le"), Audio: "pcm_s16le", OneRate: true},
	{Name: Y4M, muxer: "yuv4mpegpipe", Names: words("y4m"), Endings: words(".y4m"), Family: Raw,
		Codecs: words("rawvideo"), Layouts: y4mLayouts, Audio: Dropped, OneRate: true, Alone: true},
	{Name: NUT, Names: words("nut"), Endings: words(".nut"), Family: Raw,
		Codecs: nutCodecs, Layouts: nutLayouts, Audio: PCM},
	{Name: Null, Names: words("null"), Family: None},
	{Name: "png", Names: words("png"), Endings: words(".png"), Family: Picture},
	{Name: "mjpeg", Names: words("jpg jpeg mjpeg"), Endings: words(".jpg .jpeg"), Family: Picture, Orientation: true},
	{Name: "bmp", Names: words("bmp"), Endings: words(".bmp"), Family: Picture},
	{Name: "tiff", Names: words("tif tiff"), Endings: words(".tif .tiff"), Family: Picture},
	{Name: "ppm", Names: words("ppm"), Endings: words(".ppm"), Family: Picture},
}

// transportCodecs have stream types in MPEG-TS. Its muxer writes all others as private data that no
// program reads, also SCTE-35, which belongs in sections rather than packets. The types of Blu-ray
// (PGS, TrueHD, PCM) mean something else outside of a .m2ts.
var transportCodecs = words("h264 hevc vvc mpeg1video mpeg2video mpeg4 vc1 dirac cavs jpeg2000" +
	" mp1 mp2 mp3 aac aac_latm ac3 eac3 dts opus s302m dvb_subtitle dvb_teletext klv timed_id3 arib_caption")

// y4mLayouts are those that FFmpeg's muxer has names for.
var y4mLayouts = slices.Concat(words("gray yuv420p yuv422p yuv444p yuva444p"),
	deep("gray", "9 10 12 16"), deep("yuv420p yuv422p yuv444p", "9 10 12 14 16"))

// nutLayouts are those for which FFmpeg has tags.
var nutLayouts = slices.Concat(words("gray ya8 yuv420p yuv422p yuv444p yuva420p yuva422p yuva444p gbrp gbrap rgba"),
	deep("gray yuv420p yuv422p yuv444p gbrp", "9 10 12 14 16"), deep("yuva420p", "9 10 16"),
	deep("yuva422p yuva444p", "9 10 12 16"), deep("gbrap", "10 12 14 16"))

// nutCodecs are raw video, and sound that needs no more than its packets.
var nutCodecs = words("rawvideo pcm_s16le pcm_s16be pcm_s24le pcm_s24be pcm_s32le pcm_s32be pcm_f32le pcm_f32be" +
	" pcm_f64le pcm_f64be pcm_u8 pcm_alaw pcm_mulaw mp2 mp3 ac3")

// deep lists pixel formats of more than 8 bits.
func deep(layouts, depths string) (names []string) {
	for _, layout := range words(layouts) {
		for _, depth := range words(depths) {
			names = append(names, layout+depth+"le")
		}
	}
	return names
}

func words(s string) []string { return strings.Fields(s) }

// Fallback is the format for inputs of unknown formats: it takes the most.
func Fallback() Format { return Of(MKV) }

// Of returns the format of a name; of any other name, a format without special rules.
func Of(name string) Format {
	for _, f := range All {
		if f.Name == name {
			return f
		}
	}
	return Format{Name: name}
}

// Named returns the format of a value of --format, in any case.
func Named(name string) (Format, bool) {
	return find(func(f Format) bool { return slices.Contains(f.Names, strings.ToLower(name)) })
}

// ByEnding returns the format that an output's ending, with its dot and in any case, stands for.
func ByEnding(ending string) (Format, bool) {
	ending = strings.ToLower(ending)
	return find(func(f Format) bool { return slices.Contains(f.Endings, ending) || slices.Contains(f.Accepted, ending) })
}

// BySource returns the format in which a video whose name has this ending is written.
func BySource(ending string) (Format, bool) {
	ending = strings.ToLower(ending)
	return find(func(f Format) bool {
		return f.Video() && (slices.Contains(f.Endings, ending) || slices.Contains(f.Sources, ending))
	})
}

// OutputEnding returns the ending of an output that keeps its input's name: the input's own, as
// written there, unless the output cannot be that. format is a value of --format, or "".
func OutputEnding(ending, format string) string {
	f, ok := Named(format)
	if !ok {
		f, ok = BySource(ending)
	}
	if !ok {
		f, ok = ByEnding(ending)
	}
	switch {
	case !ok:
		return Fallback().Endings[0]
	case slices.Contains(f.Endings, strings.ToLower(ending)):
		return ending
	}
	return f.Endings[0]
}

func find(match func(Format) bool) (Format, bool) {
	if i := slices.IndexFunc(All, match); i >= 0 {
		return All[i], true
	}
	return Format{}, false
}

// Names lists the usual value of --format of each format.
func Names() (names []string) {
	for _, f := range All {
		names = append(names, f.Names[0])
	}
	return names
}

// Endings lists the endings of the formats that match.
func Endings(match func(Format) bool) (endings []string) {
	for _, f := range All {
		if match(f) {
			endings = append(append(endings, f.Endings...), f.Accepted...)
		}
	}
	return endings
}

// LanguageCode returns the code by which a format has a language, or "" if it has no place for it.
func (f Format) LanguageCode(code string) string {
	if !f.ThreeLetters && !f.Languages {
		return code
	}
	code = threeLetters(code)
	if f.Languages {
		code = OneLanguage(code)
		if !slices.Contains(quickTimeCodes, code) {
			return ""
		}
	}
	if len(code) != len("eng") {
		return ""
	}
	return code
}

// OneLanguage is a code for all codes of a language.
func OneLanguage(code string) string {
	code = threeLetters(code)
	return cmp.Or(quickTimeLanguages[code], code)
}

// threeLetters returns the code of ISO 639-2 for one of two letters. Others stay.
func threeLetters(code string) string {
	if len(code) != len("en") {
		return code
	}
	if l, err := language.ParseBase(code); err == nil {
		return l.ISO3()
	}
	return code
}

// quickTimeCodes lists the languages of QuickTime (QuickTime File Format, language code values), by
// FFmpeg's codes.
var quickTimeCodes = words(`alb amh ara arm asm aym aze baq bel ben bul bur cat ces chi dan dut dzo eng epo est fin fra geo ger gre
	grn guj heb hin hun ice ind iri ita jav jpn kan kas kaz khm kin kir kor kur lao lat lav lit mac mal mar may mlg mlt mol mon nep nor
	nya ori orm per pol por pus que ron run rus san sin slk slv smi snd som spa sve swa tam tat tel tgk tgl tha tib tir tuk tur uig ukr
	urd uzb vie wel yid`)

// quickTimeLanguages lists languages with two codes of three letters, where FFmpeg's list for
// QuickTime has the other.
var quickTimeLanguages = map[string]string{
	"fre": "fra", "deu": "ger", "nld": "dut", "swe": "sve", "ell": "gre", "isl": "ice", "zho": "chi", "fas": "per", "sqi": "alb",
	"rum": "ron", "cze": "ces", "slo": "slk", "mkd": "mac", "hye": "arm", "kat": "geo",
}
