#ifndef VIDFILTER_AUDIO_H
#define VIDFILTER_AUDIO_H
#include <libavcodec/avcodec.h>
#include <libavutil/audio_fifo.h>
#include <libswresample/swresample.h>
#include <stdint.h>

// The target format of sound. A rate of 0 is the sound's own, or the nearest that the encoder has;
// bits are the used bits of a sample, 0 for all.
typedef struct {
	enum AVCodecID codec;
	enum AVSampleFormat format;
	int bits, rate;
} vf_sound;

// A converter of audio to AAC, FLAC, PCM or Opus, which is stereo in packets of 20 ms. Times are in
// its stream's unit. Pauses become silence. The caller frees the struct itself, after
// vf_audio_close.
typedef struct {
	AVCodecContext *dec, *enc;
	SwrContext *swr;
	AVAudioFifo *fifo;
	AVFrame *decoded, *frame;
	AVChannelLayout layout; // input of swr, with format and rate; may own memory
	int format, rate;
	int samples; // of a packet
	int64_t next;   // when the next sample of the fifo is heard, in samples of the encoder
	int64_t due;    // the time of the decoder's next sample, in the same unit
	int64_t errors; // packets that could not be decoded, and gaps that are too long
	int64_t silence; // samples put into gaps
	int ended;
} vf_audio;
// On an error all is closed.
int vf_audio_open(vf_audio *a, const AVCodecParameters *from, AVRational unit, const vf_sound *to, int global_header);
// Decodes a packet, which it borrows; NULL for the end. Damaged packets are counted, not errors.
int vf_audio_send(vf_audio *a, const AVPacket *p);
// Fills p with the next packet, which the caller unreferences, with times in 1/sample_rate of the
// encoder: 1 when there is one, 0 when not.
int vf_audio_receive(vf_audio *a, AVPacket *p);
void vf_audio_close(vf_audio *a);

#endif
