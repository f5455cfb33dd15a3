#include "glue.h"
#include <libavutil/frame.h>
#include <libavutil/mem.h>
#include <libavutil/pixdesc.h>
#include <libavutil/stereo3d.h>
#include <string.h>

static const struct {
	enum AVPacketSideDataType packet;
	enum AVFrameSideDataType frame;
} display[] = {
	{AV_PKT_DATA_STEREO3D, AV_FRAME_DATA_STEREO3D},
	{AV_PKT_DATA_SPHERICAL, AV_FRAME_DATA_SPHERICAL},
	{AV_PKT_DATA_MASTERING_DISPLAY_METADATA, AV_FRAME_DATA_MASTERING_DISPLAY_METADATA},
	{AV_PKT_DATA_CONTENT_LIGHT_LEVEL, AV_FRAME_DATA_CONTENT_LIGHT_LEVEL},
	{AV_PKT_DATA_AMBIENT_VIEWING_ENVIRONMENT, AV_FRAME_DATA_AMBIENT_VIEWING_ENVIRONMENT},
	{AV_PKT_DATA_ICC_PROFILE, AV_FRAME_DATA_ICC_PROFILE},
};
enum { DISPLAYS = sizeof display / sizeof *display };

int vf_put_side_data(AVCodecParameters *dst, enum AVPacketSideDataType kind, const uint8_t *data, size_t size)
{
	AVPacketSideData *d =
		av_packet_side_data_new(&dst->coded_side_data, &dst->nb_coded_side_data, kind, size, 0);
	if (!d)
		return AVERROR(ENOMEM);
	memcpy(d->data, data, size);
	return 0;
}

int vf_frame_display(AVCodecParameters *dst, const AVFrame *src)
{
	for (int i = 0, err; i < DISPLAYS; i++) {
		const AVFrameSideData *s = av_frame_get_side_data(src, display[i].frame);
		if (s && (err = vf_put_side_data(dst, display[i].packet, s->data, s->size)) < 0)
			return err;
	}
	return 0;
}

void vf_plain_stereo(AVCodecParameters *par)
{
	const AVPacketSideData *d =
		av_packet_side_data_get(par->coded_side_data, par->nb_coded_side_data, AV_PKT_DATA_STEREO3D);
	AVStereo3D *s = d ? (AVStereo3D *)d->data : NULL;
	if (s && s->view == AV_STEREO3D_VIEW_PACKED)
		s->view = AV_STEREO3D_VIEW_UNSPEC;
	if (s && s->flags & AV_STEREO3D_FLAG_INVERT)
		av_packet_side_data_remove(par->coded_side_data, &par->nb_coded_side_data, AV_PKT_DATA_STEREO3D);
}

int vf_orientation(const int32_t m[9])
{
	// Where x and y of the stored picture point when shown, in the order of EXIF's values.
	static const int8_t axes[8][4] = {{1, 0, 0, 1},  {-1, 0, 0, 1},  {-1, 0, 0, -1}, {1, 0, 0, -1},
	                                  {0, 1, 1, 0},  {0, 1, -1, 0}, {0, -1, -1, 0}, {0, -1, 1, 0}};
	for (int i = 0; i < 8; i++)
		if ((m[0] > 0) - (m[0] < 0) == axes[i][0] && (m[1] > 0) - (m[1] < 0) == axes[i][1] &&
		    (m[3] > 0) - (m[3] < 0) == axes[i][2] && (m[4] > 0) - (m[4] < 0) == axes[i][3])
			return i + 1;
	return 1;
}

int vf_add_chapter(AVFormatContext *fc, int64_t id, int64_t start, int64_t end, const AVDictionary *meta)
{
	// fc owns the list and its chapters from here on, even if there is no memory for the next
	// chapter.
	AVChapter **list = av_realloc_array(fc->chapters, fc->nb_chapters + 1, sizeof *list);
	if (!list)
		return AVERROR(ENOMEM);
	fc->chapters = list;
	AVChapter *c = av_mallocz(sizeof *c);
	if (!c)
		return AVERROR(ENOMEM);
	c->id = id;
	c->time_base = AV_TIME_BASE_Q;
	c->start = start;
	c->end = end;
	fc->chapters[fc->nb_chapters++] = c;
	return av_dict_copy(&c->metadata, meta, 0);
}

int vf_copy_programs(AVFormatContext *dst, const AVFormatContext *src, const int *map)
{
	for (unsigned i = 0; i < src->nb_programs; i++) {
		const AVProgram *from = src->programs[i];
		AVProgram *to = NULL;
		for (unsigned j = 0; j < from->nb_stream_indexes; j++) {
			int index = map[from->stream_index[j]];
			if (index < 0)
				continue;
			if (!to && !(to = av_new_program(dst, from->id))) // belongs to dst
				return AVERROR(ENOMEM);
			av_program_add_stream_index(dst, from->id, index);
		}
		if (to && av_dict_copy(&to->metadata, from->metadata, 0) < 0)
			return AVERROR(ENOMEM);
	}
	return 0;
}

int vf_copy_parameters(AVCodecParameters *dst, const AVCodecParameters *src, uint32_t tag)
{
	int err = avcodec_parameters_copy(dst, src);
	if (err < 0)
		return err;
	dst->codec_tag = tag;
	// Matroska and AVI have the number of channels, MP4 needs to know which.
	if (dst->codec_type == AVMEDIA_TYPE_AUDIO && dst->ch_layout.order == AV_CHANNEL_ORDER_UNSPEC)
		av_channel_layout_default(&dst->ch_layout, dst->ch_layout.nb_channels);
	return 0;
}

// A file in memory.
typedef struct {
	uint8_t *data;
	int size, at;
} memory;

// Writes a file in memory with one stream and packets one after the other, which it borrows. The
// format context owns streams and parameters; the file's buffer is the caller's. Codes of errors of
// the trailer count only if there are packets.
static int trial(const AVOutputFormat *format, const AVStream *stream, uint32_t tag, AVPacket *const *packets, int n,
                 memory *file)
{
	AVFormatContext *fc = NULL;
	AVDictionary *options = NULL;
	AVPacket *p = av_packet_alloc();
	int err = p ? avformat_alloc_output_context2(&fc, format, NULL, NULL) : AVERROR(ENOMEM);
	if (err < 0) {
		av_packet_free(&p);
		return err;
	}
	// MP4 checks a track only when it writes moov, by default at the end. For PCM, whose channels
	// it may reject, empty_moov needs no packet.
	if (!n && av_get_exact_bits_per_sample(stream->codecpar->codec_id) > 0)
		av_dict_set(&options, "movflags", "empty_moov", 0);
	AVStream *st = avformat_new_stream(fc, NULL);
	if (!st || (err = vf_copy_parameters(st->codecpar, stream->codecpar, tag)) < 0 ||
	    (err = av_dict_copy(&st->metadata, stream->metadata, 0)) < 0 || (err = avio_open_dyn_buf(&fc->pb)) < 0) {
		av_dict_free(&options);
		avformat_free_context(fc);
		av_packet_free(&p);
		return err < 0 ? err : AVERROR(ENOMEM);
	}
	st->time_base = stream->time_base;
	st->avg_frame_rate = stream->avg_frame_rate;
	if (!strcmp(format->name, "yuv4mpegpipe")) // more than 8 bits count as unofficial
		fc->strict_std_compliance = FF_COMPLIANCE_UNOFFICIAL;
	if ((err = avformat_write_header(fc, &options)) >= 0) {
		int64_t at = 0;
		for (int i = 0; i < n && err >= 0; i++) {
			if ((err = av_packet_ref(p, packets[i])) < 0)
				break;
			p->stream_index = 0;
			p->pts = p->dts = at;
			at += p->duration;
			av_packet_rescale_ts(p, stream->time_base, st->time_base);
			err = av_interleaved_write_frame(fc, p); // takes the reference
		}
		if (n && err >= 0)
			err = av_interleaved_write_frame(fc, NULL);
		int end = av_write_trailer(fc);
		if (n && err >= 0)
			err = end;
	}
	file->size = avio_close_dyn_buf(fc->pb, &file->data); // frees pb and hands its buffer to us
	fc->pb = NULL;
	av_dict_free(&options);
	avformat_free_context(fc);
	av_packet_free(&p);
	return err;
}

int vf_can_mux(const AVOutputFormat *format, const AVStream *stream, uint32_t tag)
{
	if (stream->codecpar->codec_id == AV_CODEC_ID_NONE)
		return 0;
	memory file = {0};
	int err = trial(format, stream, tag, NULL, 0, &file);
	av_free(file.data);
	return err >= 0;
}

int vf_try_packet(const AVOutputFormat *format, const AVStream *stream, uint32_t tag, const AVPacket *packet)
{
	AVPacket *copy = av_packet_clone(packet); // the caller's packet keeps its duration
	if (!copy)
		return AVERROR(ENOMEM);
	copy->duration = 0; // only its data matters
	memory file = {0};
	int err = trial(format, stream, tag, &copy, 1, &file);
	av_free(file.data);
	av_packet_free(&copy);
	return err;
}

static int read_memory(void *opaque, uint8_t *buf, int size)
{
	memory *m = opaque;
	int left = m->size - m->at;
	if (left <= 0)
		return AVERROR_EOF;
	if (size > left)
		size = left;
	memcpy(buf, m->data + m->at, size);
	m->at += size;
	return size;
}

static int64_t seek_memory(void *opaque, int64_t to, int whence)
{
	memory *m = opaque;
	if (whence == AVSEEK_SIZE)
		return m->size;
	if (whence == SEEK_CUR)
		to += m->at;
	else if (whence == SEEK_END)
		to += m->size;
	if (to < 0 || to > m->size)
		return AVERROR(EINVAL);
	return m->at = (int)to;
}

// A decoder's sound: samples, channels and rate.
typedef struct {
	int64_t samples;
	int rate, channels;
} heard;

// Decodes packets that next gives until it fails, and leaves h empty without a decoder.
static int hear(heard *h, const AVCodecParameters *par, AVRational unit, int (*next)(void *, AVPacket *), void *from)
{
	const AVCodec *codec = avcodec_find_decoder(par->codec_id);
	AVCodecContext *dec = codec ? avcodec_alloc_context3(codec) : NULL;
	AVPacket *p = av_packet_alloc();
	AVFrame *f = av_frame_alloc();
	int err = !p || !f || (codec && !dec) ? AVERROR(ENOMEM) : 0;
	if (dec && !err && (err = avcodec_parameters_to_context(dec, par)) >= 0) {
		dec->pkt_timebase = unit;
		dec->flags2 |= AV_CODEC_FLAG2_SKIP_MANUAL; // priming counts
		err = avcodec_open2(dec, codec, NULL);
	}
	for (int more = 1; dec && err >= 0 && more;) {
		more = next(from, p) >= 0;
		if (more && !p->size)
			continue;
		(void)avcodec_send_packet(dec, more ? p : NULL); // faulty packets are silent ones
		av_packet_unref(p);
		while (avcodec_receive_frame(dec, f) >= 0) {
			h->samples += f->nb_samples;
			h->rate = f->sample_rate;
			h->channels = f->ch_layout.nb_channels;
			av_frame_unref(f);
		}
	}
	avcodec_free_context(&dec);
	av_packet_free(&p);
	av_frame_free(&f);
	return err;
}

typedef struct {
	AVPacket **packets;
	int n, at;
} queue;

static int next_queued(void *from, AVPacket *p)
{
	queue *q = from;
	return q->at < q->n ? av_packet_ref(p, q->packets[q->at++]) : AVERROR_EOF;
}

static int next_read(void *from, AVPacket *p) { return av_read_frame(from, p); }

// Decodes the only stream of a file.
static int hear_file(heard *h, enum AVCodecID *id, memory *file)
{
	enum { BUFFER = 1 << 12 };
	AVFormatContext *fc = avformat_alloc_context();
	AVDictionary *options = NULL;
	uint8_t *buffer = av_malloc(BUFFER);
	AVIOContext *pb = buffer ? avio_alloc_context(buffer, BUFFER, 0, file, read_memory, NULL, seek_memory) : NULL;
	int err = AVERROR(ENOMEM);
	if (!fc || !pb) {
		av_free(buffer);
		goto done;
	}
	fc->pb = pb;
	av_dict_set(&options, "ignore_editlist", "1", 0);
	if ((err = avformat_open_input(&fc, NULL, NULL, &options)) < 0 || // frees fc
	    (err = avformat_find_stream_info(fc, NULL)) < 0)
		goto done;
	err = AVERROR_STREAM_NOT_FOUND;
	if (fc->nb_streams == 1) {
		*id = fc->streams[0]->codecpar->codec_id;
		err = hear(h, fc->streams[0]->codecpar, fc->streams[0]->time_base, next_read, fc);
	}
done:
	av_dict_free(&options);
	avformat_close_input(&fc);
	if (pb)
		av_freep(&pb->buffer);
	avio_context_free(&pb);
	return err;
}

int vf_reads_back(const AVOutputFormat *format, const AVStream *stream, uint32_t tag, AVPacket **packets, int n)
{
	queue q = {packets, n, 0};
	heard was = {0}, is = {0};
	if (hear(&was, stream->codecpar, stream->time_base, next_queued, &q) < 0)
		return 1; // there is no reference to compare with
	memory file = {0};
	enum AVCodecID id = AV_CODEC_ID_NONE;
	int err = trial(format, stream, tag, packets, n, &file);
	if (err >= 0)
		err = hear_file(&is, &id, &file);
	av_free(file.data);
	if (err < 0)
		return 0;
	if (!was.samples) // there is no decoder
		return id == stream->codecpar->codec_id;
	// A demuxer may hold back the last packet, which others would complete.
	int64_t most = was.samples / 10 > was.rate / 10 ? was.samples / 10 : was.rate / 10;
	return is.rate == was.rate && is.channels == was.channels && is.samples > 0 && llabs(is.samples - was.samples) <= most;
}

int vf_cue_settings(AVPacket *p)
{
	static const enum AVPacketSideDataType lines[] = {AV_PKT_DATA_WEBVTT_SETTINGS, AV_PKT_DATA_WEBVTT_IDENTIFIER};
	size_t size;
	const uint8_t *d = av_packet_get_side_data(p, AV_PKT_DATA_MATROSKA_BLOCKADDITIONAL, &size);
	if (!d || size < 8)
		return 0;
	const uint8_t *at = d + 8, *end = d + size; // behind the number of the addition
	for (int i = 0; i < 2 && at < end; i++) {
		const uint8_t *stop = memchr(at, '\n', end - at);
		size_t n = (stop ? stop : end) - at;
		if (n) {
			uint8_t *line = av_memdup(at, n);
			int err = line ? av_packet_add_side_data(p, lines[i], line, n) : AVERROR(ENOMEM);
			if (err < 0) {
				av_free(line);
				return err;
			}
		}
		at = stop ? stop + 1 : end;
	}
	return 0;
}

enum { SUBS_BYTES = 1 << 20 };

int vf_subs_open(vf_subs *s, const AVStream *from, enum AVCodecID to)
{
	const AVCodec *decoder = avcodec_find_decoder(from->codecpar->codec_id);
	const AVCodec *encoder = avcodec_find_encoder(to);
	int err = AVERROR(ENOMEM);
	memset(s, 0, sizeof *s); // for vf_subs_close after a failure
	if (!decoder || !encoder)
		return AVERROR_DECODER_NOT_FOUND;
	s->buffer = av_malloc(SUBS_BYTES);
	s->dec = avcodec_alloc_context3(decoder);
	s->enc = avcodec_alloc_context3(encoder);
	if (!s->buffer || !s->dec || !s->enc)
		goto fail;
	if ((err = avcodec_parameters_to_context(s->dec, from->codecpar)) < 0)
		goto fail;
	s->dec->pkt_timebase = from->time_base;
	if ((err = avcodec_open2(s->dec, decoder, NULL)) < 0)
		goto fail;
	s->enc->time_base = AV_TIME_BASE_Q;
	s->enc->width = from->codecpar->width;
	s->enc->height = from->codecpar->height;
	if (s->dec->subtitle_header) { // each context frees its own
		s->enc->subtitle_header = av_mallocz(s->dec->subtitle_header_size + 1);
		if (!s->enc->subtitle_header) {
			err = AVERROR(ENOMEM);
			goto fail;
		}
		memcpy(s->enc->subtitle_header, s->dec->subtitle_header, s->dec->subtitle_header_size);
		s->enc->subtitle_header_size = s->dec->subtitle_header_size;
	}
	if ((err = avcodec_open2(s->enc, encoder, NULL)) < 0)
		goto fail;
	return 0;
fail:
	vf_subs_close(s);
	return err;
}

int vf_subs_convert(vf_subs *s, AVPacket *p)
{
	AVSubtitle sub = {0};
	int got = 0;
	int err = avcodec_decode_subtitle2(s->dec, &sub, &got, p); // we free sub, even without got
	if (err < 0 || !got || !sub.num_rects) {
		avsubtitle_free(&sub);
		return err < 0 ? err : 0;
	}
	// Encoders take times from the packet, so a cue that begins later moves it.
	AVRational ms = {1, 1000};
	int64_t shown = sub.end_display_time == UINT32_MAX ? 0 : (int64_t)sub.end_display_time - sub.start_display_time;
	int64_t begin = p->pts + av_rescale_q(sub.start_display_time, ms, s->dec->pkt_timebase);
	int64_t length = shown > 0 ? av_rescale_q(shown, ms, s->dec->pkt_timebase) : p->duration;
	sub.end_display_time -= sub.start_display_time;
	sub.start_display_time = 0;
	int size = avcodec_encode_subtitle(s->enc, s->buffer, SUBS_BYTES, &sub);
	avsubtitle_free(&sub);
	if (size <= 0)
		return size;
	AVPacket *out = av_packet_alloc();
	if (!out || av_new_packet(out, size) < 0) {
		av_packet_free(&out);
		return AVERROR(ENOMEM);
	}
	memcpy(out->data, s->buffer, size);
	out->pts = out->dts = begin;
	out->duration = length;
	out->flags = AV_PKT_FLAG_KEY;
	out->stream_index = p->stream_index;
	av_packet_unref(p); // p gives up its data for out's
	av_packet_move_ref(p, out);
	av_packet_free(&out);
	return 1;
}

void vf_subs_close(vf_subs *s)
{
	avcodec_free_context(&s->dec);
	avcodec_free_context(&s->enc);
	av_freep(&s->buffer);
}

