package media

import (
	"bytes"
	"testing"

	"vidfilter/internal/e2e"
)

// wholes are further inputs that look damaged but are not. Those cut from others name them.
var wholes = []struct{ name, from, args string }{
	{"fragments.mp4", "", both + bframes + yuv + "-c:a aac -movflags frag_keyframe+empty_moov"},
	{"short-fragments.mp4", "", both + bframes + yuv + "-c:a aac -movflags empty_moov+default_base_moof -frag_duration 200000"},
	{"fragment-a-frame.mp4", "", both + bframes + yuv + "-c:a aac -movflags frag_every_frame+empty_moov"},
	{"vfr.mkv", "", both + "-vf select='not(eq(mod(n\\,5)\\,2))' -fps_mode vfr " + bframes + yuv + "-c:a flac"},
	{"vfr.mp4", "", both + "-vf setpts='PTS+N*N*8/TB/1000' -fps_mode vfr " + bframes + yuv + "-c:a aac"},
	{"vfr-fragments.mp4", "", both + "-vf setpts='PTS+N*N*8/TB/1000' -fps_mode vfr " + bframes + yuv + "-c:a aac -movflags frag_keyframe+empty_moov"},
	{"dropped.webm", "", both + "-vf select='not(eq(n\\,7))' -fps_mode vfr " + yuv + "-c:v libvpx -deadline realtime -cpu-used 8 -c:a libvorbis"},
	{"dropped.ts", "", both + "-vf select='not(eq(n\\,7))' -fps_mode vfr " + yuv + "-c:v mpeg2video -c:a mp2"},
	{"dropped.avi", "", both + "-vf select='not(between(n\\,7\\,9))' -fps_mode passthrough " + yuv + "-c:v mpeg4 -c:a libmp3lame"},
	{"still-end.mkv", "", pictures + "-vf setpts='if(eq(N\\,19)\\,PTS+3/TB\\,PTS)' -fps_mode vfr " + h264 + yuv},
	{"still-begin.flv", "", pictures + "-vf setpts='if(N\\,PTS+3/TB\\,PTS)' -fps_mode vfr " + h264 + yuv},
	{"slow.mkv", "", "-f lavfi -i testsrc2=s=96x64:r=1:d=12 -f lavfi -i sine=d=12 " + h264 + yuv + "-c:a flac"},
	{"slow.ts", "", "-f lavfi -i testsrc2=s=96x64:r=1:d=12 -f lavfi -i sine=d=12 " + h264 + yuv + "-c:a mp2"},
	{"ntsc.mkv", "", "-f lavfi -i testsrc2=s=96x64:r=30000/1001:d=2 " + bframes + yuv},
	{"fast.flv", "", "-f lavfi -i testsrc2=s=96x64:r=120000/1001:d=1 " + h264 + yuv},
	{"film.asf", "", "-f lavfi -i testsrc2=s=96x64:r=24000/1001:d=2 -f lavfi -i sine=d=2 " + yuv + "-c:v wmv2 -c:a wmav2"},
	{"negative.mp4", "", both + "-output_ts_offset -0.3 -avoid_negative_ts disabled " + bframes + yuv + "-c:a aac"},
	{"late.mkv", "", both + "-output_ts_offset 100 " + bframes + yuv + "-c:a flac"},
	{"interlaced.ts", "", both + yuv + "-c:v mpeg2video -flags +ildct+ilme -bf 2 -c:a mp2"},
	{"interlaced.mkv", "", both + "-c:v libx264 -preset veryfast -x264-params log-level=none:threads=1:interlaced=1 -pix_fmt yuv420p -c:a flac"},
	{"long-sound.ogv", "", pictures + "-f lavfi -i sine=d=4 " + yuv + "-c:v libtheora -c:a libvorbis"},
	{"long-sound.ts", "", pictures + "-f lavfi -i sine=d=4 " + h264 + yuv + "-c:a mp2"},
	{"short-sound.mkv", "", "-f lavfi -i testsrc2=s=96x64:r=25:d=3 -f lavfi -i sine=d=0.5 " + h264 + yuv + "-c:a flac"},
	{"two.mkv", "", pictures + pictures + tone + "-map 0 -map 1 -map 2 " + h264 + yuv + "-c:a flac"},
	{"stream.mkv", "", both + "-seekable 0 " + bframes + yuv + "-c:a flac"},
	{"stream.webm", "", both + "-seekable 0 -live 1 " + yuv + "-c:v libvpx -deadline realtime -cpu-used 8 -c:a libvorbis"},
	{"stream.flv", "", both + "-seekable 0 " + bframes + yuv + "-c:a aac"},
	{"stream.nut", "", both + "-seekable 0 " + bframes + yuv + "-c:a libmp3lame"},
	{"stream.wmv", "", both + "-seekable 0 " + yuv + "-c:v wmv2 -c:a wmav2"},
	{"stream.ogv", "", both + "-seekable 0 " + yuv + "-c:v libtheora -c:a libvorbis"},
	{"stream.mxf", "", both + "-seekable 0 " + yuv + "-c:v mpeg2video -c:a pcm_s16le"},
	{"mpeg2.mxf", "", both + yuv + "-c:v mpeg2video -g 10 -c:a pcm_s16le"},
	{"vp8.ivf", "", pictures + yuv + "-c:v libvpx -deadline realtime -cpu-used 8"},
	{"av1.ivf", "", pictures + yuv + "-c:v libaom-av1 -cpu-used 8 -threads 1"},
	{"av1.obu", "", pictures + yuv + "-c:v libaom-av1 -cpu-used 8 -threads 1"},
	{"flv1.flv", "", both + yuv + "-c:v flv -c:a libmp3lame -ar 44100"},
	{"dv.avi", "", "-f lavfi -i testsrc2=s=720x576:r=25:d=0.2 -f lavfi -i sine=d=0.2:r=48000 -target pal-dv -f avi"},
	{"sound.dv", "", "-f lavfi -i testsrc2=s=720x480:r=30000/1001:d=0.2 -f lavfi -i sine=d=0.2:r=48000 -target ntsc-dv"},
	{"animated.apng", "", pictures},
	{"bare.m2v", "", pictures + yuv + "-c:v mpeg2video -bf 2"},
	{"bare.mjpeg", "", pictures + "-c:v mjpeg -pix_fmt yuvj420p"},
	{"bare.m4v", "", pictures + yuv + "-c:v mpeg4"},
	{"open-hevc.mp4", "", pictures + yuv + "-c:v libx265 -preset ultrafast -x265-params log-level=none:pools=1:keyint=8:min-keyint=8:bframes=3:open-gop=1 -tag:v hvc1"},
	{"open-mpeg2.ts", "", both + yuv + "-c:v mpeg2video -bf 2 -g 8 -c:a mp2"},
	{"h264.mp4", "", inputArgs("h264.mp4")},
	{"h264-open.mp4", "", inputArgs("h264-open.mp4")},
	{"cut.mp4", "h264.mp4", "-ss 0.3 -i @h264.mp4 -c copy"},
	{"cut.mkv", "h264.mp4", "-ss 0.3 -i @h264.mp4 -c copy"},
	{"cut-open.mp4", "h264-open.mp4", "-ss 0.4 -i @h264-open.mp4 -c copy"},
	{"cut-open.mkv", "h264-open.mp4", "-ss 0.4 -i @h264-open.mp4 -c copy"},
	{"cut-open-hevc.mkv", "open-hevc.mp4", "-ss 0.4 -i @open-hevc.mp4 -c copy"},
	{"cut-open-hevc.mp4", "open-hevc.mp4", "-ss 0.4 -i @open-hevc.mp4 -c copy"},
	{"cut-open-mpeg2.mkv", "open-mpeg2.ts", "-ss 0.4 -i @open-mpeg2.ts -c copy"},
	{"cut-open-mpeg2.ts", "open-mpeg2.ts", "-ss 0.4 -i @open-mpeg2.ts -c copy"},
	{"joined.mkv", "h264.mp4", "-stream_loop 2 -i @h264.mp4 -c copy"},
	{"joined.mp4", "h264.mp4", "-stream_loop 2 -i @h264.mp4 -c copy"},
	{"cover.mp4", "h264.mp4", "-i @h264.mp4 -f lavfi -i color=s=32x32:r=25:d=0.04 -map 0 -map 1 -c copy -c:v:1 png -disposition:v:1 attached_pic"},
	{"tail.mp4", "h264.mp4", "-i @h264.mp4 -c copy -movflags +faststart"},
}

// inputArgs are the arguments of one of inputs.
func inputArgs(name string) string {
	for _, in := range inputs {
		if in.name+"."+in.ending == name {
			return in.args
		}
	}
	panic(name)
}

// A whole input is not called damaged.
func TestWholeInputs(t *testing.T) {
	for i, in := range wholes {
		t.Run(in.name, func(t *testing.T) {
			e2e.Start(t, i%8 == 0)
			if in.from != "" {
				for _, w := range wholes {
					if w.name == in.from {
						clip(t, w.name, w.args)
					}
				}
			}
			filter(t, clip(t, in.name, in.args), "mkv", "")
		})
	}
}

// A transport stream may begin in the middle of a packet, and be joined from others.
func TestWholeTransportStreams(t *testing.T) {
	e2e.Start(t, true)
	data := e2e.Read(t, clip(t, "whole.ts", both+yuv+"-c:v mpeg2video -bf 2 -c:a mp2"))
	filter(t, put(t, "late.ts", append([]byte("half a packet"), data...)), "mkv", "")
	filter(t, put(t, "twice.ts", bytes.Repeat(data, 2)), "mkv", "")
}
