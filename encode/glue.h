#ifndef VIDFILTER_ENCODE_GLUE_H
#define VIDFILTER_ENCODE_GLUE_H
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/audio_fifo.h>
#include <libswresample/swresample.h>
#include <stdint.h>

// Stream side data that says how a picture is shown (rotation, stereo, HDR) and is still true after a
// re-encode.
int vf_copy_display(AVCodecParameters *dst, const AVCodecParameters *src);
// The EXIF orientation, 1 to 8, that a frame's display matrix stands for; 1 when there is none.
int vf_orientation(const AVFrame *f);
// The same matrix for a stream that has none.
int vf_frame_rotation(AVCodecParameters *dst, const AVFrame *src);
// The HDR metadata of a frame, for encoders that write it once, in their header.
int vf_copy_hdr(AVCodecContext *dst, const AVFrame *src);
// Adds a chapter, in microseconds.
int vf_add_chapter(AVFormatContext *fc, int64_t id, int64_t start, int64_t end, const AVDictionary *meta);
// Copies the programs of an MPEG-TS. map[i] is the output stream of input stream i, or -1.
int vf_copy_programs(AVFormatContext *dst, const AVFormatContext *src, const int *map);

// Copies what a muxer needs to know of a codec, with a codec tag (0 for the muxer's choice).
int vf_copy_parameters(AVCodecParameters *dst, const AVCodecParameters *src, uint32_t tag);
// Whether a muxer takes a stream with a codec tag.
int vf_can_mux(const AVOutputFormat *format, const AVStream *stream, uint32_t tag);
int vf_set_extradata(AVCodecParameters *par, const uint8_t *data, int size);

// Asks an encoder to spend more on a part of a picture: offset is from -1 to 1, of its range of quantization.
int vf_favour(AVFrame *f, int left, int top, int right, int bottom, AVRational offset);

// A converter of text subtitles.
typedef struct {
	AVCodecContext *dec, *enc;
	uint8_t *buffer;
} vf_subs;
int vf_subs_open(vf_subs *s, const AVStream *from, enum AVCodecID to);
// Converts one packet in place: 1 when there is a packet to write, 0 when not.
int vf_subs_convert(vf_subs *s, AVPacket *p);
void vf_subs_close(vf_subs *s);

// A converter of audio to AAC. Times are those of the stream it is opened for; pauses become silence.
typedef struct {
	AVCodecContext *dec, *enc;
	SwrContext *swr;
	AVAudioFifo *fifo;
	AVFrame *decoded, *frame;
	AVChannelLayout layout; // of what swr is set up for, with format and rate
	int format, rate;
	int64_t next;   // when the next sample of the fifo is heard, in samples of the encoder
	int64_t due;    // when the next sample of the decoder is, likewise
	int64_t errors; // packets that could not be decoded
	int ended;
} vf_audio;
int vf_audio_open(vf_audio *a, const AVStream *from, int global_header);
// Takes in one packet, NULL for the end. Damaged packets are counted, not errors.
int vf_audio_send(vf_audio *a, const AVPacket *p);
// Gives the next packet, with times in 1/sample_rate of the encoder: 1 when there is one, 0 when not.
int vf_audio_receive(vf_audio *a, AVPacket *p);
void vf_audio_close(vf_audio *a);
#endif
