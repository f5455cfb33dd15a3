#ifndef VIDFILTER_MUX_GLUE_H
#define VIDFILTER_MUX_GLUE_H
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <stdint.h>

// Memory: contexts, parameters and frames stay the caller's. Data added to them is a copy that is
// freed with them, also after an error. Functions return 0 or more, or a negative AVERROR.

// Copies side data, replacing data of the same kind.
int vf_put_side_data(AVCodecParameters *dst, enum AVPacketSideDataType kind, const uint8_t *data, size_t size);
// Leaves of stereo pictures the parts that a muxer for MP4 writes where all players look. For the
// rest, FFmpeg would write a box that hides what the pictures say.
void vf_plain_stereo(AVCodecParameters *par);
// Returns the EXIF orientation, 1 to 8, of a display matrix.
int vf_orientation(const int32_t m[9]);
// Copies a frame's display side data (stereo, HDR) that stays true after re-encoding.
int vf_frame_display(AVCodecParameters *dst, const AVFrame *src);
// Adds a chapter, in microseconds.
int vf_add_chapter(AVFormatContext *fc, int64_t id, int64_t start, int64_t end, const AVDictionary *meta);
// Copies the programs of an MPEG-TS. map[i] is the output stream of input stream i, or -1.
int vf_copy_programs(AVFormatContext *dst, const AVFormatContext *src, const int *map);

// Copies parameters for a muxer, with a codec tag (0 for the muxer's choice).
int vf_copy_parameters(AVCodecParameters *dst, const AVCodecParameters *src, uint32_t tag);
// Returns whether a muxer takes a stream with a codec tag.
int vf_can_mux(const AVOutputFormat *format, const AVStream *stream, uint32_t tag);
// Writes a single packet of a stream to a file in memory: a muxer that accepts a stream may reject
// its data.
int vf_try_packet(const AVOutputFormat *format, const AVStream *stream, uint32_t tag, const AVPacket *packet);
// Writes packets of sound to a file in memory, reads it and decodes it: 1 if rate, channels and
// length are as the packets' own, 0 if not, or if the muxer refuses a packet.
int vf_reads_back(const AVOutputFormat *format, const AVStream *stream, uint32_t tag, AVPacket **packets, int n);
// Gives a packet of WebVTT the settings and the name of its cue that Matroska keeps beside it.
int vf_cue_settings(AVPacket *p);

// A converter of text subtitles. The caller frees the struct itself, after vf_subs_close.
typedef struct {
	AVCodecContext *dec, *enc;
	uint8_t *buffer;
} vf_subs;
// On an error all is closed.
int vf_subs_open(vf_subs *s, const AVStream *from, enum AVCodecID to);
// Replaces the data of p, which stays the caller's: 1 when there is a packet to write, 0 when not.
int vf_subs_convert(vf_subs *s, AVPacket *p);
void vf_subs_close(vf_subs *s);


#endif
