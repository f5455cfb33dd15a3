#include "audio.h"
#include <libavutil/channel_layout.h>
#include <libavutil/mem.h>
#include <libavutil/opt.h>
#include <limits.h>
#include <string.h>

// Few people can distinguish stereo at 192 kb/s from the original, or Opus at half of it.
enum { BITS_PER_CHANNEL = 96000, OPUS_BITS_PER_CHANNEL = 48000, MOST_BITS_PER_SAMPLE = 6 };

// A pause or overlap beyond this is real; below it, it is the container's rounding of times.
enum { JITTER_MS = 50 };

static int supported_rate(const AVCodec *codec, int rate)
{
	const void *list = NULL;
	int count = 0, best = 0;
	if (avcodec_get_supported_config(NULL, codec, AV_CODEC_CONFIG_SAMPLE_RATE, 0, &list, &count) < 0)
		return 48000;
	if (!list) // it takes any
		return rate;
	for (int i = 0; i < count; i++) {
		int r = ((const int *)list)[i];
		if (r == rate)
			return rate;
		if (r > rate && (!best || r < best))
			best = r;
	}
	return best ? best : 48000;
}

// Fills the encoder's layout, which is freed with its context.
static int set_layout(AVChannelLayout *to, const AVChannelLayout *from, int most)
{
	if (from->order != AV_CHANNEL_ORDER_UNSPEC && from->nb_channels <= most)
		return av_channel_layout_copy(to, from);
	av_channel_layout_default(to, from->nb_channels <= most ? from->nb_channels : 2);
	return 0;
}

// Makes a->enc, which vf_audio_close frees, also after an error.
static int open_encoder(vf_audio *a, const AVCodec *codec, const vf_sound *to, const AVChannelLayout *layout,
                        int global_header)
{
	int err;
	a->enc = avcodec_alloc_context3(codec);
	if (!a->enc)
		return AVERROR(ENOMEM);
	AVChannelLayout stereo = AV_CHANNEL_LAYOUT_STEREO;
	int opus = codec->id == AV_CODEC_ID_OPUS;
	a->enc->sample_rate = to->rate ? to->rate : supported_rate(codec, a->dec->sample_rate);
	a->enc->sample_fmt = to->format;
	a->enc->bits_per_raw_sample = to->bits;
	a->enc->time_base = (AVRational){1, a->enc->sample_rate};
	int most = av_get_exact_bits_per_sample(codec->id) ? INT_MAX : 8; // PCM has any number of channels
	if ((err = set_layout(&a->enc->ch_layout, opus ? &stereo : layout, most)) < 0)
		return err;
	int bits = opus ? OPUS_BITS_PER_CHANNEL : BITS_PER_CHANNEL;
	if (bits > MOST_BITS_PER_SAMPLE * a->enc->sample_rate)
		bits = MOST_BITS_PER_SAMPLE * a->enc->sample_rate;
	a->enc->bit_rate = (int64_t)bits * a->enc->ch_layout.nb_channels;
	if (global_header)
		a->enc->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
	if (opus && (err = av_opt_set(a->enc->priv_data, "application", "lowdelay", 0)) < 0)
		return err;
	err = avcodec_open2(a->enc, codec, NULL);
	a->samples = a->enc->frame_size ? a->enc->frame_size : a->enc->sample_rate / 25; // PCM takes any number
	return err;
}

int vf_audio_open(vf_audio *a, const AVCodecParameters *from, AVRational unit, const vf_sound *to, int global_header)
{
	const AVCodec *decoder = avcodec_find_decoder(from->codec_id);
	const AVCodec *encoder = avcodec_find_encoder(to->codec);
	int err = AVERROR(ENOMEM);
	memset(a, 0, sizeof *a); // for vf_audio_close after a failure
	a->next = a->due = AV_NOPTS_VALUE;
	if (!decoder || !encoder)
		return AVERROR_DECODER_NOT_FOUND;
	if (from->sample_rate <= 0 || from->ch_layout.nb_channels <= 0)
		return AVERROR_INVALIDDATA;
	a->dec = avcodec_alloc_context3(decoder);
	a->decoded = av_frame_alloc();
	a->frame = av_frame_alloc();
	if (!a->dec || !a->decoded || !a->frame)
		goto fail;
	if ((err = avcodec_parameters_to_context(a->dec, from)) < 0)
		goto fail;
	a->dec->pkt_timebase = unit;
	if ((err = avcodec_open2(a->dec, decoder, NULL)) < 0)
		goto fail;
	err = open_encoder(a, encoder, to, &from->ch_layout, global_header);
	// AAC has no code for this layout.
	if (err == AVERROR(EINVAL) && from->ch_layout.nb_channels > 2 && to->codec == AV_CODEC_ID_AAC) {
		AVChannelLayout stereo = AV_CHANNEL_LAYOUT_STEREO;
		avcodec_free_context(&a->enc);
		err = open_encoder(a, encoder, to, &stereo, global_header);
	}
	if (err < 0)
		goto fail;
	a->fifo = av_audio_fifo_alloc(a->enc->sample_fmt, a->enc->ch_layout.nb_channels, 4 * a->samples);
	if (!a->fifo) {
		err = AVERROR(ENOMEM);
		goto fail;
	}
	return 0;
fail:
	vf_audio_close(a);
	return err;
}

// Resamples n samples (NULL, 0 to flush) into the fifo, which copies them. data stays the
// caller's.
static int resample(vf_audio *a, const uint8_t *const *data, int n)
{
	int room = swr_get_out_samples(a->swr, n);
	if (room <= 0)
		return room;
	uint8_t *out[AV_NUM_DATA_POINTERS] = {0};
	int err = av_samples_alloc(out, NULL, a->enc->ch_layout.nb_channels, room, a->enc->sample_fmt, 0);
	if (err < 0)
		return err;
	int got = swr_convert(a->swr, out, room, (const uint8_t **)data, n);
	err = got > 0 ? av_audio_fifo_write(a->fifo, (void **)out, got) : got;
	av_freep(&out[0]); // the planes are one allocation
	return err < 0 ? err : 0;
}

// Makes the resampler for frames like f, after draining the old one.
static int setup(vf_audio *a, const AVFrame *f)
{
	AVChannelLayout layout = {0}; // ours until a->layout takes it
	int err;
	if (f->ch_layout.order == AV_CHANNEL_ORDER_UNSPEC)
		av_channel_layout_default(&layout, f->ch_layout.nb_channels);
	else if ((err = av_channel_layout_copy(&layout, &f->ch_layout)) < 0)
		return err;
	if (a->swr && f->format == a->format && f->sample_rate == a->rate &&
	    !av_channel_layout_compare(&layout, &a->layout)) {
		av_channel_layout_uninit(&layout);
		return 0;
	}
	if (a->swr && (err = resample(a, NULL, 0)) < 0) {
		av_channel_layout_uninit(&layout);
		return err;
	}
	swr_free(&a->swr);
	av_channel_layout_uninit(&a->layout);
	a->layout = layout; // moved, not copied
	a->format = f->format;
	a->rate = f->sample_rate;
	err = swr_alloc_set_opts2(&a->swr, &a->enc->ch_layout, a->enc->sample_fmt, a->enc->sample_rate, &a->layout,
	                          a->format, a->rate, 0, NULL);
	return err < 0 ? err : swr_init(a->swr);
}

// Resamples a decoded frame, which it borrows, to its own time.
static int take(vf_audio *a, const AVFrame *f)
{
	int err = setup(a, f);
	if (err < 0)
		return err;
	AVRational unit = {1, a->enc->sample_rate};
	int64_t at = a->due;
	if (f->pts != AV_NOPTS_VALUE)
		at = av_rescale_q(f->pts, a->dec->pkt_timebase, unit);
	if (a->due == AV_NOPTS_VALUE)
		a->next = a->due = at == AV_NOPTS_VALUE ? 0 : at;
	if (at == AV_NOPTS_VALUE)
		at = a->due;
	int64_t jitter = (int64_t)a->enc->sample_rate * JITTER_MS / 1000, gap = at - a->due;
	// Wrong times must not become days of silence.
	const int64_t longest = 1200 * (int64_t)a->enc->sample_rate, most = 3 * longest;
	if (gap >= longest || (gap > jitter && a->silence + gap > most)) {
		a->errors++;
	} else if (gap > jitter) {
		a->silence += gap;
		int64_t silence = av_rescale(gap, a->rate, a->enc->sample_rate);
		while (silence > 0) { // in steps, so that a long pause does not fill the memory at once
			int n = silence > 1 << 16 ? 1 << 16 : (int)silence;
			if ((err = swr_inject_silence(a->swr, n)) < 0 || (err = resample(a, NULL, 0)) < 0)
				return err;
			silence -= n;
		}
		a->due = at;
	} else if (gap < -jitter && gap > -longest) {
		if ((err = swr_drop_output(a->swr, (int)-gap)) < 0)
			return err;
		a->due = at;
	}
	a->due += av_rescale(f->nb_samples, a->enc->sample_rate, a->rate);
	return resample(a, (const uint8_t *const *)f->extended_data, f->nb_samples);
}

// Resamples all frames that the decoder has. a->decoded holds a reference only within the loop.
static int decode(vf_audio *a)
{
	for (;;) {
		int err = avcodec_receive_frame(a->dec, a->decoded);
		if (err == AVERROR(EAGAIN) || err == AVERROR_EOF)
			return 0;
		if (err < 0) {
			a->errors++;
			return err == AVERROR(ENOMEM) ? err : 0;
		}
		err = take(a, a->decoded);
		av_frame_unref(a->decoded);
		if (err < 0)
			return err;
	}
}

int vf_audio_send(vf_audio *a, const AVPacket *p)
{
	if (p && !p->size) // such as FLAC ends with; a decoder would take it for the end
		return 0;
	int err = avcodec_send_packet(a->dec, p);
	if (err == AVERROR(ENOMEM))
		return err;
	if (err < 0 && err != AVERROR_EOF)
		a->errors++;
	if ((err = decode(a)) < 0 || p)
		return err;
	a->ended = 1;
	return a->swr ? resample(a, NULL, 0) : 0;
}

// Feeds a frame to the encoder, which keeps its own reference; 0 if there are too few samples.
static int feed(vf_audio *a)
{
	int n = av_audio_fifo_size(a->fifo), err;
	if (n > a->samples)
		n = a->samples;
	if (n < a->samples && !a->ended)
		return 0;
	if (!n) {
		err = avcodec_send_frame(a->enc, NULL);
		return err == AVERROR_EOF ? 0 : err < 0 ? err : 1;
	}
	a->frame->nb_samples = n;
	a->frame->format = a->enc->sample_fmt;
	a->frame->sample_rate = a->enc->sample_rate;
	if ((err = av_channel_layout_copy(&a->frame->ch_layout, &a->enc->ch_layout)) < 0 ||
	    (err = av_frame_get_buffer(a->frame, 0)) < 0)
		goto done;
	if ((err = av_audio_fifo_read(a->fifo, (void **)a->frame->data, n)) < 0)
		goto done;
	a->frame->pts = a->next;
	a->frame->duration = n;
	a->next += n;
	err = avcodec_send_frame(a->enc, a->frame);
done:
	av_frame_unref(a->frame);
	return err < 0 ? err : 1;
}

int vf_audio_receive(vf_audio *a, AVPacket *p)
{
	for (;;) {
		int err = avcodec_receive_packet(a->enc, p);
		if (!err)
			return 1;
		if (err == AVERROR_EOF)
			return 0;
		if (err != AVERROR(EAGAIN))
			return err;
		if ((err = feed(a)) <= 0)
			return err;
	}
}

void vf_audio_close(vf_audio *a)
{
	avcodec_free_context(&a->dec);
	avcodec_free_context(&a->enc);
	swr_free(&a->swr);
	if (a->fifo)
		av_audio_fifo_free(a->fifo);
	a->fifo = NULL;
	av_frame_free(&a->decoded);
	av_frame_free(&a->frame);
	av_channel_layout_uninit(&a->layout);
}
