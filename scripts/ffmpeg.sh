#!/bin/sh
# Builds FFmpeg 7.1 (with dav1d, SVT-AV1, x264, x265, Opus and zimg) as static libraries into a cache outside the tree and
# prints the folder. A build without the file "done", written at its end, was interrupted and is redone. The name of the
# folder has a hash of the recipe, without its comments, and of Debian's libraries, so a changed recipe builds anew.
#   ffmpeg.sh         build if needed, print the folder
#   ffmpeg.sh --path  print the folder only
#   ffmpeg.sh --cache print the cache that holds it
# With VIDFILTER_SANITIZE, dav1d and FFmpeg look for mistakes with memory and undefined behaviour as they run (make
# test-asan). They are compiled without assembly then, into which the sanitizers cannot look.
set -eu

ffmpeg=7.1.5
ffmpeg_sha=de668509caf9e35e3cd162473441fdb29538c6d96ed080292b3cf9e6fc5d558f
dav1d=1.5.1
dav1d_sha=401813f1f89fa8fd4295805aa5284d9aed9bc7fc1fdbe554af4292f64cbabe21
svtav1=2.3.0
svtav1_sha=815e88cc539c41b8ebd1a6f362f82ab510147635fc6c3edfa35edcfbed302cd8
nvcodec=12.1.14.0 # headers of NVDEC and NVENC, MIT; the libraries come with the driver
nvcodec_sha=0ca1a0c85b149646fa6ce4d600584507fdccf5a23d58e668d8701e89cee0c3fb

here=$(cd "$(dirname "$0")" && pwd)
cache=${VIDFILTER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vidfilter}
lib=/usr/lib/$(uname -m)-linux-gnu
if [ "${1:-}" = --cache ]; then
	echo "$cache"
	exit
fi
key=$({ grep -v '^[[:space:]]*# ' "$here/ffmpeg.sh" && cat "$here/ffmpeg-qp.h" "$lib/libx264.a" "$lib/libx265.a" "$lib/libopus.a" "$lib/libnuma.a" "$lib/libz.a" "$lib/libzimg.a" 2>/dev/null; } |
	sha256sum | cut -c1-12)
sanitize=${VIDFILTER_SANITIZE:+address,undefined}
prefix=$cache/ffmpeg-$ffmpeg-$key${sanitize:+-sanitized}

if [ "${1:-}" = --path ] || [ -f "$prefix/done" ]; then
	echo "$prefix"
	exit
fi

say() { echo "vidfilter: $*" >&2; }

# fetch NAME SHA256 URL POOL-PATH: the project's own release first, if it has a URL, else Debian's copy of
# the same file from whichever mirror this machine is set up with.
fetch() {
	file=$cache/$1
	if [ -f "$file" ] && echo "$2  $file" | sha256sum -c --quiet >/dev/null 2>&1; then return; fi
	# shellcheck disable=SC2016 # apt's own variable
	sites=$(apt-get indextargets --format '$(SITE)' 2>/dev/null | sort -u || true)
	for url in ${3:+"$3"} $(for s in $sites; do echo "$s/$4"; done); do
		if curl -sSfL --connect-timeout 10 --max-time 600 -o "$file.part" "$url" 2>"$cache/fetch.log" &&
			echo "$2  $file.part" | sha256sum -c --quiet >/dev/null 2>&1; then
			mv "$file.part" "$file"
			return
		fi
	done
	say "could not download $1: $(tail -n 1 "$cache/fetch.log")"
	say "put the file at $file (sha256 $2) and run make again"
	exit 1
}

mkdir -p "$cache"
exec 9>"$cache/lock"
if ! flock -n 9; then
	say "another build of FFmpeg is running; waiting for it"
	flock 9
fi
if [ -f "$prefix/done" ]; then
	echo "$prefix"
	exit
fi
fetch "ffmpeg-$ffmpeg.tar.xz" $ffmpeg_sha \
	"https://ffmpeg.org/releases/ffmpeg-$ffmpeg.tar.xz" "pool/main/f/ffmpeg/ffmpeg_$ffmpeg.orig.tar.xz"
fetch "dav1d-$dav1d.tar.xz" $dav1d_sha \
	"https://downloads.videolan.org/pub/videolan/dav1d/$dav1d/dav1d-$dav1d.tar.xz" \
	"pool/main/d/dav1d/dav1d_$dav1d.orig.tar.xz"
# Debian's copy lacks a bundled library, and the project publishes no archive of its own that stays the same.
fetch "svt-av1-$svtav1.tar.xz" $svtav1_sha "" "pool/main/s/svt-av1/svt-av1_$svtav1+dfsg.orig.tar.xz"
fetch "nv-codec-headers-$nvcodec.tar.xz" $nvcodec_sha "" "pool/main/n/nv-codec-headers/nv-codec-headers_$nvcodec.orig.tar.xz"

work=$prefix.build
rm -rf "$work" "$prefix"
mkdir -p "$work/src" "$work/dav1d" "$work/svtav1" "$prefix/lib/pkgconfig"
log=$cache/build.log
failed() {
	tail -n 30 "$log" >&2
	say "$1 did not build; the whole log is $log"
	exit 1
}
unknown() { # NAME: its source is not as expected
	say "$1 is not the version that this script changes"
	exit 1
}
jobs=$(nproc)

# nasm looks for the shortest jumps in many rounds, which is most of its time, without a gain here. yasm takes a third
# of the rest, but knows no AVX-512, and by -MD it writes dependencies instead of code.
mkdir -p "$work/bin"
cat >"$work/bin/nasm" <<EOF
#!/bin/sh
case \$* in *libav*/x86/*.asm | *libsw*/x86/*.asm) yasm \$(echo "\$@" | sed 's/ -MD [^ ]*//') 2>/dev/null && exit ;; esac
exec $(command -v nasm) -O1 "\$@"
EOF
chmod +x "$work/bin/nasm"
PATH=$work/bin:$PATH

say "building dav1d $dav1d, SVT-AV1 $svtav1 and FFmpeg $ffmpeg once into $prefix (some minutes)"
tar -C "$work/dav1d" --strip-components=1 -xf "$cache/dav1d-$dav1d.tar.xz"
# dav1d drops a frame with a tile that ends too early, and every frame up to the next keyframe. Log it, and keep the
# frame: missing data decodes as zeros, as for other damage.
tile='    if (ts->msac.cnt <= -15)'
sed -i "s|^$tile return 1;\$|$tile dav1d_log((Dav1dContext *)c, \"a tile ends too early\\\\n\");|" "$work/dav1d/src/decode.c"
grep -q "^$tile dav1d_log" "$work/dav1d/src/decode.c" || unknown "dav1d $dav1d"
# Its kernels for AVX-512 take half of the time of its build, and are little faster than those for AVX2.
sed -i '/_avx512\.asm/d' "$work/dav1d/src/meson.build"
sed -i 's/^    if (!(flags & DAV1D_X86_CPU_FLAG_AVX512ICL))/    if (1)/' "$work/dav1d/src/x86/"*.h
{
	meson setup "$work/dav1d/out" "$work/dav1d" --prefix="$prefix" --libdir=lib --buildtype=release \
		--default-library=static -Denable_tools=false -Denable_tests=false \
		${sanitize:+"-Db_sanitize=$sanitize" -Db_lundef=false -Denable_asm=false} &&
		ninja -C "$work/dav1d/out" -j "$jobs" install
} >"$log" 2>&1 9>&- &
decoder=$!

# SVT-AV1 without AVX-512, and with -O2 as its kernels are intrinsics: both save a third of the time to build, as
# does compiling the tables of functions, and the code for processors without AVX2, with little optimisation.
tar -C "$work/svtav1" --strip-components=1 -xf "$cache/svt-av1-$svtav1.tar.xz"
# As root it takes the highest real-time priority, and starves the machine. Its threads are like any others here.
for f in Codec/svt_threads.c Globals/enc_handle.c; do
	sed -i -e 's/geteuid() != 0/1/' -e 's/!geteuid()/0/' "$work/svtav1/Source/Lib/$f"
	grep -Eq '^ *if \((EB_THREAD_SANITIZER_ENABLED \|\| 1|0)\)' "$work/svtav1/Source/Lib/$f" || unknown "SVT-AV1 $svtav1"
done
echo 'set_source_files_properties(aom_dsp_rtcd.c common_dsp_rtcd.c PROPERTIES COMPILE_OPTIONS -O0)' \
	>>"$work/svtav1/Source/Lib/Codec/CMakeLists.txt"
for f in ASM_SSE2 ASM_SSSE3 ASM_SSE4_1; do
	echo "target_compile_options($f PRIVATE -O1)" >>"$work/svtav1/Source/Lib/$f/CMakeLists.txt"
done
{
	cmake -G Ninja -S "$work/svtav1" -B "$work/svtav1/out" -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib \
		-DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE='-O2 -DNDEBUG' -DENABLE_AVX512=OFF -DSVT_AV1_LTO=OFF \
		-DBUILD_SHARED_LIBS=OFF -DBUILD_APPS=OFF -DREPRODUCIBLE_BUILDS=ON &&
		ninja -C "$work/svtav1/out" -j "$jobs" install
} >"$log.svtav1" 2>&1 9>&- &
encoder=$!
wait $decoder || failed dav1d
wait $encoder || { log=$log.svtav1 && failed SVT-AV1; }

# x264, x265 (for 8, 10 and 12 bits) and its needs, Opus, zlib and zimg are Debian's static libraries. Their folder,
# first on the link path, has no shared libraries, so that the linker cannot prefer those.
cp "$lib/libx264.a" "$lib/libx265.a" "$lib/libopus.a" "$lib/libnuma.a" "$lib/libz.a" "$lib/libzimg.a" "$(gcc -print-file-name=libstdc++.a)" "$prefix/lib/"
pc=$prefix/lib/pkgconfig
for p in x264 x265 opus zlib zimg; do
	# shellcheck disable=SC2016 # pkg-config's own variable
	sed -e "s|^libdir=.*|libdir=$prefix/lib|" -e 's|-L[^ ]*|-L${libdir}|' -e 's|-lgcc_s|-lgcc_eh|g' -e 's|-lstdc++$|& -lm|' \
		"$lib/pkgconfig/$p.pc" >"$pc/$p.pc"
done

decoders=h264,hevc,libdav1d,vp8,vp9,vp3,vp6,vp6f,theora,mpeg1video,mpeg2video,mpeg4,msmpeg4v1,msmpeg4v2,msmpeg4v3
decoders=$decoders,h261,h263,h263p,h263i,flv,wmv1,wmv2,wmv3,vc1,rv10,rv20,rv30,rv40,svq1,svq3,cinepak,indeo3,indeo5
decoders=$decoders,prores,dnxhd,cfhd,mjpeg,mjpegb,ffv1,huffyuv,ffvhuff,hymt,utvideo,magicyuv,lagarith,rawvideo,v210,v308,v408,v410
decoders=$decoders,dvvideo,qtrle,rpza,msvideo1,msrle,zmbv,tscc,flashsv,flashsv2,snow,dirac,vvc,hap,jpeg2000,mszh,zlib
decoders=$decoders,png,apng,gif,bmp,tiff,webp,pam,ppm,pgm,pgmyuv,pbm,targa,qoi,wrapped_avframe
decoders=$decoders,srt,subrip,ass,ssa,webvtt,movtext,text,dvbsub,dvdsub,pgssub
decoders=$decoders,aac,aac_latm,ac3,eac3,mp1,mp2,mp3,flac,alac,vorbis,opus,dca,truehd,mlp,wmav1,wmav2,wmapro,wmalossless
decoders=$decoders,cook,ra_144,ra_288,sipr,nellymoser,speex,amrnb,amrwb,qdm2,qdmc,ape,tta,wavpack,tak,shorten,gsm,gsm_ms,g723_1,s302m
decoders=$decoders,'pcm_*,adpcm_*'
demuxers=mov,matroska,mpegts,mpegps,mpegvideo,m4v,avi,asf,flv,live_flv,ogg,rm,nut,mxf,gxf,ivf,obu,h261,h263,h264,hevc,vvc,vc1,dv
demuxers=$demuxers,rawvideo,yuv4mpegpipe,mjpeg,gif,apng,webm_dash_manifest,concat,hls,wtv,wav,w64,caf,aiff,mp3,aac,ac3,eac3,flac
demuxers=$demuxers,srt,ass,webvtt,ffmetadata,amr,'image_*_pipe'
# These identify the private streams of a transport stream. Without them DTS is taken for MP3.
demuxers=$demuxers,dts,dtshd,truehd,mlp,loas,dvbsub,dvbtxt,mjpeg_2000
muxers=mp4,mov,matroska,webm,mpegts,mxf,avi,nut,null,image2pipe,rawvideo,yuv4mpegpipe,h264,framehash,framecrc,srt,wav
encoders=libx264,libx265,libsvtav1,h264_nvenc,hevc_nvenc,av1_nvenc,ffv1,prores_ks,dnxhd,rawvideo,wrapped_avframe,png,mjpeg,bmp,tiff,ppm,movtext,subrip,srt,ass,ssa,webvtt,text
encoders=$encoders,aac,libopus,flac,pcm_s16le,pcm_s24le,pcm_s32le,pcm_f32le,pcm_f64le
# For --before and --after. Filters that open files or devices, take sound or need more than one input are left out.
filters=null,copy,format,scale,zscale,crop,cropdetect,pad,transpose,hflip,vflip,rotate
filters=$filters,bwdif,w3fdif,yadif,estdif,kerndeint,fieldmatch,fieldorder,separatefields,weave,doubleweave,interlace,tinterlace,telecine
filters=$filters,phase,idet,pullup,dejudder,decimate,mpdecimate,fps,framerate,framestep,minterpolate,tpad,setpts,settb
filters=$filters,eq,hue,curves,colorlevels,colorbalance,colorchannelmixer,colortemperature,vibrance,colorspace,colormatrix,normalize,histeq
filters=$filters,lut,lutyuv,lutrgb,tonemap,limiter,negate,extractplanes
filters=$filters,unsharp,cas,smartblur,gblur,avgblur,boxblur,sab,bilateral,deband,gradfun,deblock,pp7,fspp,spp,uspp,dedot,delogo,fillborders
filters=$filters,hqdn3d,nlmeans,atadenoise,owdenoise,vaguedenoiser,bm3d,dctdnoiz,fftdnoiz,removegrain,median,tmedian,deflicker,noise
filters=$filters,setsar,setdar,setfield,setparams,setrange,drawbox,drawgrid,split,field,il,blend
protocols=file,pipe,fd,crypto,data,concat,subfile,hls,http,tcp,udp,rtp

tar -C "$work/src" --strip-components=1 -xf "$cache/ffmpeg-$ffmpeg.tar.xz"
cd "$work/src"
# The decoders of H.264 and MPEG hand out their tables of quantisers by ffmpeg-qp.h. By itself libavcodec
# copies them while another thread may still be decoding the picture.
cp "$here/ffmpeg-qp.h" libavcodec/vf_qp.h
hand_out() { # FILE ANCHOR TYPE MULTIPLIER: before the line that begins with the anchor
	sed -i -e '1i #include "libavcodec/vf_qp.h"' \
		-e "/^    $2/i return vf_export_qp(f, $3, $4, p->mb_width, p->mb_height, p->mb_stride, p->qscale_table, p->qscale_table_base);" "$1"
	[ "$(grep -c '^return vf_export_qp' "$1")" = 1 ] || failed "FFmpeg's $1"
}
copy='par = av_video_enc_params_create_side_data(f, AV_VIDEO_ENC_PARAMS'
hand_out libavcodec/h264dec.c "${copy}_H264" AV_VIDEO_ENC_PARAMS_H264 1
hand_out libavcodec/mpegvideo_dec.c "${copy}_MPEG2" AV_VIDEO_ENC_PARAMS_MPEG2 mult
# Limits, beyond which a small file takes gigabytes or hours. Messages beside a picture take 3 kB for 19 bytes. Lists of
# tags and chapters take time by the square of their length; decode/limits.go refuses files with half as many.
limit() { # FILE LINE LIMIT: before the line that begins so
	sed -i "/^    $2/i $3" "$1"
	[ "$(grep -cF "$3" "$1")" = 1 ] || failed "FFmpeg's $1"
}
limit libavcodec/h2645_sei.c 'tmp = av_realloc_array(h->buf_ref, h->nb_buf_ref + 1' 'if (h->nb_buf_ref >= 1000) return 0;'
limit libavformat/demux_utils.c 'if (end != AV_NOPTS_VALUE && start > end)' 'if (s->nb_chapters >= 20000) return NULL;'
limit libavutil/dict.c 'if (flags & AV_DICT_DONT_STRDUP_VAL)' 'if (value && m && m->count >= 20000) return AVERROR(ENOMEM);'
# QuickTime has the record of Dolby Vision in the same place as MP4.
sed -i '/^    if (track->mode == MODE_MP4) {$/{N;/ \*dovi = /s/MODE_MP4)/MODE_MP4 || track->mode == MODE_MOV)/;}' libavformat/movenc.c
[ "$(grep -c 'MODE_MP4 || track->mode == MODE_MOV) {' libavformat/movenc.c)" = 1 ] || failed "FFmpeg's libavformat/movenc.c"
# A run of zeros to the end of a block counts one coefficient too many, beyond its table.
sed -i 's/if (coeff_index + zero_run > 64) {/if (coeff_index + zero_run > 63) {/; s/zero_run = 64 - coeff_index;/zero_run = 63 - coeff_index;/' libavcodec/vp3.c
[ "$(grep -c '63 - coeff_index;' libavcodec/vp3.c)" = 1 ] || failed "FFmpeg's libavcodec/vp3.c"
# NVDEC conceals damage in silence. Ask it of each picture.
status='CUVIDGETDECODESTATUS status = { 0 };'
sed -i "/^    unmap_data = av_mallocz/i if (decoder->cvdl->cuvidGetDecodeStatus) { $status if (!decoder->cvdl->cuvidGetDecodeStatus(decoder->decoder, cf->idx, \\&status) \\&\\& status.decodeStatus >= cuvidDecodeStatus_Error) frame->flags |= AV_FRAME_FLAG_CORRUPT; }" libavcodec/nvdec.c
[ "$(grep -c "$status" libavcodec/nvdec.c)" = 1 ] || failed "FFmpeg's libavcodec/nvdec.c"
# Its copies of pictures also fail in silence.
sed -i '/^exit:/,/^}/s/^    return 0;/    return ret;/' libavutil/hwcontext_cuda.c
[ "$(sed -n '/^exit:/,/^}/p' libavutil/hwcontext_cuda.c | grep -c '^    return ret;')" = 1 ] || failed "FFmpeg's libavutil/hwcontext_cuda.c"
# NVENC tags its video as the other encoders do, and not with a format of analogue television.
tags='vui->videoFormat = NV_ENC_VUI_VIDEO_FORMAT_UNSPECIFIED; vui->chromaSampleLocationFlag = avctx->chroma_sample_location > 0 \&\& !IS_YUV444(ctx->data_pix_fmt);'
tags="$tags vui->chromaSampleLocationTop = vui->chromaSampleLocationBot = FFMAX(avctx->chroma_sample_location - 1, 0);"
sed -i -e "s/^    vui->colourDescriptionPresentFlag =\$/    $tags\n&/" \
	-e 's/^    av1->outputAnnexBFormat = 0;/    av1->chromaSamplePosition = avctx->chroma_sample_location == AVCHROMA_LOC_LEFT ? 1 : avctx->chroma_sample_location == AVCHROMA_LOC_TOPLEFT ? 2 : 0;\n&/' libavcodec/nvenc.c
[ "$(grep -c 'vui->chromaSampleLocationTop\|av1->chromaSamplePosition' libavcodec/nvenc.c)" = 3 ] || failed "FFmpeg's libavcodec/nvenc.c"
# Matroska has WebVTT in two forms. FFmpeg reads only the form of WebM, whose blocks begin with two more lines.
sed -i '0,/^    {"D_WEBVTT\/METADATA".*/s||&\n    {"S_TEXT/WEBVTT", AV_CODEC_ID_WEBVTT},|' libavformat/matroska.c
sed -i 's/^        } else if (st->codecpar->codec_id == AV_CODEC_ID_WEBVTT) {/        } else if (st->codecpar->codec_id == AV_CODEC_ID_WEBVTT \&\& track->codec_id[0] == '"'D'"') {/' libavformat/matroskadec.c
[ "$(grep -c 'S_TEXT/WEBVTT' libavformat/matroska.c)$(grep -c "WEBVTT && track->codec_id" libavformat/matroskadec.c)" = 11 ] || failed "FFmpeg's Matroska"
mkdir -p "$work/nvcodec"
tar -C "$work/nvcodec" --strip-components=1 -xf "$cache/nv-codec-headers-$nvcodec.tar.xz"
cp -r "$work/nvcodec/include/ffnvcodec" "$prefix/include/"
sed "s|@@PREFIX@@|$prefix|" "$work/nvcodec/ffnvcodec.pc.in" >"$pc/ffnvcodec.pc"
# Containers, sound and headers take little time to run, and the files of "vectors" hold code for processors without
# them. Compiled with little optimisation, they take a third of the time.
plain='libavformat/%.o libavdevice/%.o libavutil/tx_int32.o libavutil/tx_double.o'
sound='aac* aac/* ac3* eac3* acelp* adpcm* alac* amr* ape* atrac* celp* cook* dca* flac* g7* gsm* kbd* lpc* lsp* mlp* mpegaudio* nelly*'
sound="$sound opus/* pcm* psy* qdm* ra1* ra2* sbr* shorten* sine* sipr* speex* tak* tta* vorbis* wavpack* wma*"
headers='*_parse* *_bsf* bsf/* cbs* ass* dovi* dvbsub* dvdsub* evc* jpegxl* movtext* pgssub* srt* subrip* text* webvtt* xsub*'
vectors='h264qpel h264pred h264dsp hpeldsp qpeldsp hevc/dsp vp8dsp vp9dsp_8bpp vp9dsp_10bpp vp9dsp_12bpp vc1dsp rv34dsp rv40dsp'
set -f # the patterns are for make
for f in $sound $headers $vectors x86/hevcdsp_init; do
	plain="$plain \$(patsubst %.c,%.o,\$(wildcard libavcodec/$f.c))"
done
plain="$plain \$(filter-out libavfilter/vf_% libavfilter/scene_sad%,\$(patsubst %.c,%.o,\$(wildcard libavfilter/*.c)))"
set +f
plain="$plain: CFLAGS += -O1"
{
	# --pkg-config-flags: the private libraries of static ones are needed.
	PKG_CONFIG_PATH=$pc ./configure --prefix="$prefix" --pkg-config-flags=--static \
		--disable-everything --disable-autodetect --disable-programs --disable-doc --disable-debug \
		--disable-postproc \
		--enable-gpl --enable-pic --enable-pthreads --enable-network \
		--enable-zlib --enable-libzimg --enable-libx264 --enable-libx265 --enable-libsvtav1 --enable-libdav1d --enable-libopus \
		--extra-ldflags="-L$prefix/lib" \
		${sanitize:+--disable-asm --optflags=-O1 "--extra-cflags=-g1 -fno-omit-frame-pointer -fsanitize=$sanitize" "--extra-ldflags=-fsanitize=$sanitize"} \
		--enable-ffnvcodec --enable-nvdec --enable-nvenc --enable-hwaccel=h264_nvdec,hevc_nvdec,vp9_nvdec,mpeg2_nvdec \
		--enable-parsers --enable-bsfs --enable-indev=v4l2 --enable-filter="$filters" \
		--enable-decoder="$decoders" --enable-demuxer="$demuxers" \
		--enable-muxer="$muxers" --enable-encoder="$encoders" --enable-protocol="$protocols" &&
		echo "$plain" >>ffbuild/config.mak && make -j "$jobs" && make install
} >>"$log" 2>&1 9>&- || failed FFmpeg
# For encode/grain.c, which writes film grain into the headers of AV1 pictures.
cp libavcodec/cbs.h libavcodec/cbs_av1.h libavcodec/av1.h "$prefix/include/libavcodec/"

# Only static libraries are here, so the parts that pkg-config calls private are always needed: fold them in, and
# plain `go build` links without --static.
for f in "$pc"/*.pc; do
	awk -F': *' '
		/^(Libs|Requires)(\.private)?:/ { k = $1; sub(/\.private/, "", k); v[k] = v[k] " " $2; next }
		{ print }
		END { for (k in v) print k ":" v[k] }' "$f" >"$f.new"
	mv "$f.new" "$f"
done
touch "$prefix/done"
rm -rf "$work"
say "FFmpeg $ffmpeg is ready"
echo "$prefix"
