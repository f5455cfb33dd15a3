//go:build !nolibav

package graph

import "strings"

// traits has the properties of a filter of FFmpeg that FFmpeg does not describe.
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

// refused has the filters of FFmpeg that are left out, by the reason; * in a name stands for any
// text.
var refused = byName(map[string]string{
	"it opens files": `
		movie amovie lut3d lut1d drawtext subtitles ass removelogo deshake vidstab* metadata ametadata sendcmd
		asendcmd fieldhint nnedi find_rect cover_rect selectivecolor fsync signature vmafmotion ocr qrencode* drawvg`,
	"it listens on the network": `
		zmq azmq`,
	"it loads code or models from files": `
		frei0r* ladspa lv2 dnn_* sr derain coreimage* ocv`,
	"it works in the memory of a device": `
		libplacebo openclsrc *_opencl *_cuda *_vaapi *_vulkan *_qsv *_npp *_videotoolbox *_amf hwupload* hwdownload
		hwmap`,
	"it takes another video beside the one that is filtered": `
		haldclut overlay concat psnr ssim ssim360 xpsnr libvmaf vif identity msad corr xfade hstack vstack xstack
		mix interleave streamselect alphamerge mergeplanes maskedmerge maskedmin maskedmax maskedclamp
		maskedthreshold lut2 midequalizer paletteuse remap scale2ref threshold displace xmedian xcorrelate convolve
		deconvolve guided premultiply unpremultiply morpho colormap feedback limitdiff framepack varblur hysteresis`,
	"it makes a video of its own, in place of the one that is filtered": `
		color colorchart colorspectrum testsrc testsrc2 nullsrc smptebars smptehdbars pal75bars pal100bars
		rgbtestsrc yuvtestsrc life cellauto mandelbrot mptestsrc gradients sierpinski allrgb allyuv haldclutsrc
		zoneplate perlin ddagrab gfxcapture avsynctest buffer abuffer anullsrc sine aevalsrc flite`,
	"it ends the video": `
		nullsink anullsink buffersink abuffersink`,
	"it is for sound": `
		anull aformat aresample volume loudnorm atempo amix amerge asetpts asettb atrim afade adelay apad asplit pan
		equalizer highpass lowpass acompressor alimiter dynaudnorm earwax silenceremove`,
	"it makes a chart, or writes to the log": `
		showinfo signalstats histogram waveform vectorscope blackdetect blackframe freezedetect scdet siti entropy
		bitplanenoise showpalette oscilloscope pixscope datascope ciescope readeia608 readvitc quirc bench perms`,
	"it keeps a whole video in memory": `
		loop reverse random tile shuffleframes palettegen thumbnail`,
})

func byName(reasons map[string]string) map[string]string {
	all := map[string]string{}
	for why, names := range reasons {
		for name := range strings.FieldsSeq(names) {
			all[name] = why
		}
	}
	return all
}
