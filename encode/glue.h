#ifndef VIDFILTER_ENCODE_GLUE_H
#define VIDFILTER_ENCODE_GLUE_H
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <stdint.h>

// Stream side data that says how a picture is shown (rotation, stereo, HDR) and is still true after a
// re-encode.
int vf_copy_display(AVCodecParameters *dst, const AVCodecParameters *src);
// The HDR metadata of a frame, for encoders that write it once, in their header.
int vf_copy_hdr(AVCodecContext *dst, const AVFrame *src);
// Adds a chapter, in microseconds.
int vf_add_chapter(AVFormatContext *fc, int64_t id, int64_t start, int64_t end, const AVDictionary *meta);
// Copies the programs of an MPEG-TS. map[i] is the output stream of input stream i, or -1.
int vf_copy_programs(AVFormatContext *dst, const AVFormatContext *src, const int *map);

// Whether a muxer takes a stream with a codec tag (0 for its own choice).
int vf_can_mux(const AVOutputFormat *format, const AVStream *stream, uint32_t tag);

// A converter of text subtitles.
typedef struct {
	AVCodecContext *dec, *enc;
	uint8_t *buffer;
} vf_subs;
int vf_subs_open(vf_subs *s, const AVStream *from, enum AVCodecID to);
// Converts one packet in place: 1 when there is a packet to write, 0 when not.
int vf_subs_convert(vf_subs *s, AVPacket *p);
void vf_subs_close(vf_subs *s);
#endif
