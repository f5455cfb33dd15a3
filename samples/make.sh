#!/bin/sh
# Makes the sample clips. Without an argument: clean.mp4 and noisy.mp4, which are committed;
# their bits depend on the version of the encoder, so do that only when the scene changes. With the
# argument "bench": 4k.mp4 and 8k.mp4, for measuring, which are not committed. With "tape": ../docs/tape.jpg,
# a synthetic tape before and after --footage tape, and tape.mkv, which is not committed. This needs the
# program: run make build, or set VIDFILTER to its path.
# Needs go and an ffmpeg program with libx264 (or set FFMPEG to one).
set -eu

cd "$(dirname "$0")"
ffmpeg=${FFMPEG:-ffmpeg}
command -v "$ffmpeg" >/dev/null || {
	echo "make.sh: no $ffmpeg program; set FFMPEG to one with libx264" >&2
	exit 1
}
tmp=$(mktemp -d)
gen=
trap '[ -z "$gen" ] || kill "$gen" || :; rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM
go build -o "$tmp/gen" ./gen

# clip NAME SIZE FRAMES NOISE X264-OPTION... makes NAME.mp4. The picture goes through a named pipe, not a
# pipeline, so that a failing generator is not mistaken for a short clip.
clip() {
	name=$1 size=$2 frames=$3 noise=$4
	shift 4
	"$tmp/gen" -frames "$frames" -tracks "$tmp/$name"
	mkfifo "$tmp/$name.y4m"
	"$tmp/gen" -size "$size" -frames "$frames" -noise "$noise" >"$tmp/$name.y4m" &
	gen=$!
	# Bitexact leaves versions and dates out of the file.
	"$ffmpeg" -v error -nostdin -y \
		-i "$tmp/$name.y4m" -i "$tmp/$name/audio.wav" -i "$tmp/$name/subtitles.srt" \
		-f ffmetadata -i "$tmp/$name/chapters.txt" \
		-map 0:v -map 1:a -map 2:s -map_metadata 3 -map_chapters 3 \
		-c:v libx264 "$@" -pix_fmt yuv420p \
		-color_range tv -colorspace bt709 -color_primaries bt709 -color_trc bt709 \
		-c:a aac -b:a 96k -c:s mov_text \
		-metadata:s:a:0 language=eng -metadata:s:a:0 handler_name=Notes \
		-metadata:s:s:0 language=eng -metadata:s:s:0 handler_name="Names of the notes" \
		-disposition:s:0 default \
		-fflags +bitexact -flags:v +bitexact -flags:a +bitexact -movflags +faststart \
		"$tmp/$name.mp4"
	wait "$gen"
	gen=
	mv "$tmp/$name.mp4" "$name.mp4"
	ls -l "$name.mp4"
}

case ${1-} in
'')
	# The grain has to survive: "-tune grain" keeps it, and 26 is about as coarse as it bears.
	clip clean 640x360 72 0 -preset slow -crf 20
	clip noisy 640x360 72 9 -preset slow -crf 26 -tune grain
	;;
bench)
	clip 4k 3840x2160 48 9 -preset veryfast -crf 26
	clip 8k 7680x4320 16 9 -preset veryfast -crf 26
	;;
tape)
	"$tmp/gen" -tape -size 720x576 -rate 25 -frames 25 -noise 5 |
		"$ffmpeg" -v error -y -i - -c:v ffv1 -level 3 -g 1 -slicecrc 1 tape.mkv
	"${VIDFILTER:-../bin/vidfilter}" -i tape.mkv -o "$tmp/clean.mkv" --footage tape --codec ffv1
	# The left part of the same picture in both, at 4:3.
	half="select='gte(t,0.159)',crop=380:ih:0:0,pad=380:576"
	"$ffmpeg" -v error -y -i tape.mkv -i "$tmp/clean.mkv" -frames:v 1 -filter_complex \
		"[0]${half}[a];[1]${half}[b];[a][b]hstack,scale=810:576:flags=lanczos+accurate_rnd+full_chroma_int,format=yuvj444p" \
		-q:v 4 -fflags +bitexact -flags:v +bitexact ../docs/tape.jpg
	ls -l tape.mkv ../docs/tape.jpg
	;;
*)
	echo "usage: samples/make.sh [bench|tape]" >&2
	exit 2
	;;
esac
