package graph

// traits says of a filter of FFmpeg what its users must know beyond FFmpeg's own description.
type traits struct {
	keeps int // frames that it may keep back, apart from those that an option counts
	// per is the option that counts further frames, and times how many for each of it.
	per    string
	times  int
	local  bool     // a picture's result depends on that picture alone
	needed bool     // in a trial: more than samples depends on it
	files  []string // options that name files
}

// known has the filters of this build that a graph may use.
var known = map[string]traits{
	"null": {local: true}, "copy": {local: true}, "format": {local: true}, "split": {local: true},
	"scale": {local: true}, "zscale": {local: true}, "crop": {local: true}, "pad": {local: true},
	"transpose": {local: true}, "hflip": {local: true}, "vflip": {local: true}, "rotate": {local: true},
	"fillborders": {local: true}, "delogo": {local: true}, "drawbox": {local: true}, "drawgrid": {local: true},
	"setsar": {local: true}, "setdar": {local: true}, "setfield": {local: true}, "setparams": {local: true}, "setrange": {local: true},
	"cropdetect": {keeps: 2},

	"bwdif": {keeps: 3, needed: true}, "w3fdif": {keeps: 3, needed: true}, "yadif": {keeps: 3, needed: true}, "estdif": {keeps: 3, needed: true},
	"kerndeint":  {keeps: 1, needed: true},
	"fieldmatch": {keeps: 6}, "fieldorder": {local: true, needed: true}, "separatefields": {keeps: 1}, "weave": {keeps: 1}, "doubleweave": {keeps: 1},
	"interlace": {keeps: 2}, "tinterlace": {keeps: 2}, "telecine": {keeps: 1}, "phase": {keeps: 1}, "idet": {keeps: 3},
	"pullup": {keeps: 1}, "field": {local: true}, "il": {local: true},

	"dejudder": {keeps: 1}, "decimate": {keeps: 2, per: "cycle", times: 1}, "mpdecimate": {keeps: 1}, "fps": {keeps: 2},
	"framerate": {keeps: 3}, "framestep": {}, "minterpolate": {keeps: 4}, "tpad": {keeps: 2}, "setpts": {keeps: 1}, "settb": {},

	"eq": {local: true}, "hue": {local: true}, "curves": {local: true, files: []string{"psfile", "plot"}},
	"colorlevels": {local: true}, "colorbalance": {local: true}, "colorchannelmixer": {local: true},
	"colortemperature": {local: true}, "vibrance": {local: true}, "colorspace": {local: true, needed: true}, "colormatrix": {local: true, needed: true},
	"normalize": {}, "histeq": {}, "lut": {local: true}, "lutyuv": {local: true}, "lutrgb": {local: true},
	"tonemap": {local: true}, "limiter": {local: true}, "negate": {local: true}, "extractplanes": {local: true},

	"unsharp": {local: true}, "cas": {local: true}, "smartblur": {local: true}, "gblur": {local: true}, "avgblur": {local: true},
	"boxblur": {local: true}, "sab": {local: true}, "bilateral": {local: true}, "deband": {local: true}, "gradfun": {local: true},
	"deblock": {local: true}, "pp7": {local: true}, "fspp": {local: true}, "spp": {local: true}, "uspp": {}, "dedot": {keeps: 5},
	"removegrain": {local: true}, "median": {local: true}, "noise": {},

	"hqdn3d": {}, "nlmeans": {local: true}, "atadenoise": {per: "s", times: 1, needed: true}, "owdenoise": {local: true},
	"vaguedenoiser": {local: true}, "bm3d": {local: true}, "dctdnoiz": {local: true}, "fftdnoiz": {keeps: 3},
	"tmedian": {keeps: 1, per: "radius", times: 2, needed: true}, "deflicker": {per: "size", times: 1}, "blend": {keeps: 3},
}

// The reasons for which filters of FFmpeg are left out.
const (
	opensFiles   = "it opens files"
	opensNetwork = "it listens on the network"
	opensDevice  = "it works in the memory of a device"
	takesTwo     = "it takes another video beside the one that is filtered"
	isSource     = "it makes a video of its own, in place of the one that is filtered"
	isSink       = "it ends the video"
	takesSound   = "it is for sound"
	showsOnly    = "it makes a chart, or writes to the log"
	keepsAll     = "it keeps a whole video in memory"
	runsCode     = "it loads code or models from files"
)

// refused gives the reasons by the names of filters; a name that ends in * stands for all that
// begin so.
var refused = map[string]string{
	"movie": opensFiles, "amovie": opensFiles, "lut3d": opensFiles, "lut1d": opensFiles, "drawtext": opensFiles,
	"subtitles": opensFiles, "ass": opensFiles, "removelogo": opensFiles, "deshake": opensFiles, "vidstab*": opensFiles,
	"metadata": opensFiles, "ametadata": opensFiles, "sendcmd": opensFiles, "asendcmd": opensFiles, "fieldhint": opensFiles,
	"nnedi": opensFiles, "find_rect": opensFiles, "cover_rect": opensFiles, "selectivecolor": opensFiles, "fsync": opensFiles,
	"signature": opensFiles, "vmafmotion": opensFiles, "ocr": opensFiles, "qrencode*": opensFiles, "drawvg": opensFiles,
	"zmq": opensNetwork, "azmq": opensNetwork,
	"frei0r*": runsCode, "ladspa": runsCode, "lv2": runsCode, "dnn_*": runsCode, "sr": runsCode, "derain": runsCode, "coreimage*": runsCode,
	"ocv": runsCode, "libplacebo": opensDevice, "openclsrc": opensDevice, "*_opencl": opensDevice, "*_cuda": opensDevice,
	"*_vaapi": opensDevice, "*_vulkan": opensDevice, "*_qsv": opensDevice, "*_npp": opensDevice, "*_videotoolbox": opensDevice, "*_amf": opensDevice,
	"hwupload*": opensDevice, "hwdownload": opensDevice, "hwmap": opensDevice,

	"haldclut": takesTwo, "overlay": takesTwo, "concat": takesTwo, "psnr": takesTwo, "ssim": takesTwo, "ssim360": takesTwo,
	"xpsnr": takesTwo, "libvmaf": takesTwo, "vif": takesTwo, "identity": takesTwo, "msad": takesTwo, "corr": takesTwo, "xfade": takesTwo,
	"hstack": takesTwo, "vstack": takesTwo, "xstack": takesTwo, "mix": takesTwo, "interleave": takesTwo, "streamselect": takesTwo,
	"alphamerge": takesTwo, "mergeplanes": takesTwo, "maskedmerge": takesTwo, "maskedmin": takesTwo, "maskedmax": takesTwo,
	"maskedclamp": takesTwo, "maskedthreshold": takesTwo, "lut2": takesTwo, "midequalizer": takesTwo, "paletteuse": takesTwo, "remap": takesTwo,
	"scale2ref": takesTwo, "threshold": takesTwo, "displace": takesTwo, "xmedian": takesTwo, "xcorrelate": takesTwo, "convolve": takesTwo,
	"deconvolve": takesTwo, "guided": takesTwo, "premultiply": takesTwo, "unpremultiply": takesTwo, "morpho": takesTwo, "colormap": takesTwo,
	"feedback": takesTwo, "limitdiff": takesTwo, "framepack": takesTwo, "varblur": takesTwo, "hysteresis": takesTwo,

	"color": isSource, "colorchart": isSource, "colorspectrum": isSource, "testsrc": isSource, "testsrc2": isSource, "nullsrc": isSource,
	"smptebars": isSource, "smptehdbars": isSource, "pal75bars": isSource, "pal100bars": isSource, "rgbtestsrc": isSource,
	"yuvtestsrc": isSource, "life": isSource, "cellauto": isSource, "mandelbrot": isSource, "mptestsrc": isSource, "gradients": isSource,
	"sierpinski": isSource, "allrgb": isSource, "allyuv": isSource, "haldclutsrc": isSource, "zoneplate": isSource, "perlin": isSource,
	"ddagrab": isSource, "gfxcapture": isSource, "avsynctest": isSource, "buffer": isSource, "abuffer": isSource, "anullsrc": isSource,
	"sine": isSource, "aevalsrc": isSource, "flite": isSource, "nullsink": isSink, "anullsink": isSink, "buffersink": isSink, "abuffersink": isSink,

	"anull": takesSound, "aformat": takesSound, "aresample": takesSound, "volume": takesSound, "loudnorm": takesSound, "atempo": takesSound,
	"amix": takesSound, "amerge": takesSound, "asetpts": takesSound, "asettb": takesSound, "atrim": takesSound, "afade": takesSound,
	"adelay": takesSound, "apad": takesSound, "asplit": takesSound, "pan": takesSound, "equalizer": takesSound, "highpass": takesSound,
	"lowpass": takesSound, "acompressor": takesSound, "alimiter": takesSound, "dynaudnorm": takesSound, "earwax": takesSound, "silenceremove": takesSound,

	"showinfo": showsOnly, "signalstats": showsOnly, "histogram": showsOnly, "waveform": showsOnly, "vectorscope": showsOnly,
	"blackdetect": showsOnly, "blackframe": showsOnly, "freezedetect": showsOnly, "scdet": showsOnly, "siti": showsOnly, "entropy": showsOnly,
	"bitplanenoise": showsOnly, "showpalette": showsOnly, "oscilloscope": showsOnly, "pixscope": showsOnly, "datascope": showsOnly,
	"ciescope": showsOnly, "readeia608": showsOnly, "readvitc": showsOnly, "quirc": showsOnly, "bench": showsOnly, "perms": showsOnly,
	"loop": keepsAll, "reverse": keepsAll, "random": keepsAll, "tile": keepsAll, "shuffleframes": keepsAll, "palettegen": keepsAll,
	"thumbnail": keepsAll,
}
