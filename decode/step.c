#include "step.h"

#include <libavcodec/cbs.h>
#include <libavutil/intreadwrite.h>
#include <libavutil/log.h>
#include <libavutil/mem.h>
#include <math.h>
#include <string.h>

// VP9 and AV1 have one table of steps for coefficients other than the first: of 8, 10 and 12 bits.
extern const int16_t ff_vp9_ac_qlookup[3][256];

enum { SLOTS = 8, PARAMETER_SETS = 64 };

struct vf_steps {
	const AVClass *quiet; // first, for av_log
	int silence;
	enum AVCodecID codec;
	CodedBitstreamContext *reader; // NULL for JPEG
	CodedBitstreamFragment unit;
	float shown; // by the packet at hand

	// Of AV1 and VP9: pictures that a header may show later, and the parts of a header read so far.
	struct { float step; int key; } slots[SLOTS];
	int key, show;
	unsigned refresh; // which slots

	// Of HEVC: slices of the packet at hand, and parameter sets.
	double squares;
	int slices, set;
	int first_qp[PARAMETER_SETS];
};

// The decoder reports errors of a picture.
static const AVClass quiet = {
	.class_name = "steps",
	.item_name = av_default_item_name,
	.version = LIBAVUTIL_VERSION_INT,
	.log_level_offset_offset = offsetof(struct vf_steps, silence),
};

// Sets the fields that the next header omits to their implied values.
static void next_header(struct vf_steps *s)
{
	s->key = 0;
	s->show = 1;
	s->refresh = (1 << SLOTS) - 1;
}

static void keep(struct vf_steps *s, float step)
{
	for (int i = 0; i < SLOTS; i++)
		if (s->refresh >> i & 1) {
			s->slots[i].step = step;
			s->slots[i].key = s->key;
		}
}

// Steps are in 8-bit levels of an orthonormal transform: coefficients of VP9 and AV1 are 8 times as
// large.
static void of_vp9(struct vf_steps *s, const char *name, int64_t value)
{
	if (!strcmp(name, "show_existing_frame")) {
		next_header(s);
	} else if (!strcmp(name, "frame_to_show_map_idx")) {
		s->shown = s->slots[value & 7].step;
		s->key = s->slots[value & 7].key;
		if (s->key && s->codec == AV_CODEC_ID_AV1)
			keep(s, s->shown);
	} else if (!strcmp(name, "frame_type")) {
		s->key = value == 0;
	} else if (!strcmp(name, "show_frame")) {
		s->show = value != 0;
	} else if (!strcmp(name, "refresh_frame_flags")) {
		s->refresh = value & 0xff;
	} else if (!strcmp(name, "base_q_idx")) {
		float step = ff_vp9_ac_qlookup[0][value & 0xff] / 8.0f;
		if (s->show)
			s->shown = step;
		keep(s, step);
		next_header(s);
	}
}

static void of_hevc(struct vf_steps *s, const char *name, int64_t value)
{
	if (!strcmp(name, "pps_pic_parameter_set_id") || !strcmp(name, "slice_pic_parameter_set_id")) {
		s->set = value & (PARAMETER_SETS - 1);
	} else if (!strcmp(name, "init_qp_minus26")) {
		s->first_qp[s->set] = 26 + (int)value;
	} else if (!strcmp(name, "slice_qp_delta")) {
		double qp = s->first_qp[s->set] + (int)value; // of 8 bits, whatever the depth
		s->squares += exp2((av_clipd(qp, -48, 51) - 4) / 3);
		s->shown = sqrt(s->squares / ++s->slices);
	}
}

// Takes the elements that matter by their names in the standards. Their values may be out of range.
static void element(void *opaque, struct GetBitContext *at, int length, const char *name, const int *subscripts, int64_t value)
{
	struct vf_steps *s = opaque;
	if (s->codec == AV_CODEC_ID_HEVC)
		of_hevc(s, name, value);
	else
		of_vp9(s, name, value);
}

struct vf_steps *vf_steps_open(const AVCodecContext *c)
{
	enum AVCodecID codec = c->codec_id;
	if (codec != AV_CODEC_ID_AV1 && codec != AV_CODEC_ID_HEVC && codec != AV_CODEC_ID_VP9 && codec != AV_CODEC_ID_MJPEG)
		return NULL;
	struct vf_steps *s = av_mallocz(sizeof *s);
	if (!s)
		return NULL;
	s->quiet = &quiet;
	s->silence = 1000;
	s->codec = codec;
	next_header(s);
	if (codec == AV_CODEC_ID_MJPEG)
		return s;
	if (ff_cbs_init(&s->reader, codec, s) < 0) {
		av_free(s);
		return NULL;
	}
	s->reader->trace_enable = 1;
	s->reader->trace_context = s;
	s->reader->trace_read_callback = element;
	// SEI of HEVC, which is long and often odd, is left alone.
	static const CodedBitstreamUnitType read[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 18, 19, 20, 21, 32, 33, 34};
	if (codec == AV_CODEC_ID_HEVC) {
		s->reader->decompose_unit_types = read;
		s->reader->nb_decompose_unit_types = FF_ARRAY_ELEMS(read);
	}
	if (c->extradata_size > 0) {
		ff_cbs_read_extradata_from_codec(s->reader, &s->unit, c); // packets may also have the headers
		ff_cbs_fragment_reset(&s->unit);
	}
	return s;
}

void vf_steps_close(struct vf_steps *s)
{
	if (!s)
		return;
	if (s->reader) {
		ff_cbs_fragment_free(&s->unit);
		ff_cbs_close(&s->reader);
	}
	av_free(s);
}

// Returns the mean step of the lowest frequencies of luma. JPEG's transform is orthonormal.
static float of_jpeg(const uint8_t *p, size_t size)
{
	enum { SOI = 0xd8, DQT = 0xdb, SOS = 0xda, COEFFICIENTS = 64, FIRST = 1, LAST = 9 }; // up to u+v = 3
	for (const uint8_t *end = p + size; end - p >= 4 && p[0] == 0xff && p[1] != SOS;) {
		if (p[1] == SOI || p[1] == 0xff) {
			p += p[1] == SOI ? 2 : 1;
			continue;
		}
		int segment = 2 + AV_RB16(p + 2);
		if (segment > end - p)
			return 0;
		for (const uint8_t *t = p + 4, *last = p + segment; p[1] == DQT && t < last;) {
			int bytes = t[0] >> 4 ? 2 : 1, table = t[0] & 15, sum = 0;
			if (last - ++t < bytes * COEFFICIENTS)
				return 0;
			for (int k = FIRST; k <= LAST; k++)
				sum += bytes == 2 ? AV_RB16(t + 2 * k) : t[k];
			if (!table)
				return sum / (float)(LAST - FIRST + 1);
			t += bytes * COEFFICIENTS;
		}
		p += segment;
	}
	return 0;
}

float vf_step(struct vf_steps *s, const AVPacket *p)
{
	if (s->codec == AV_CODEC_ID_MJPEG)
		return of_jpeg(p->data, p->size);
	if (p->size <= 0)
		return 0;
	s->shown = 0;
	s->squares = s->slices = 0;
	int err = ff_cbs_read_packet(s->reader, &s->unit, p);
	ff_cbs_fragment_reset(&s->unit);
	return err < 0 ? 0 : s->shown;
}

int vf_is_faithful(enum AVCodecID codec)
{
	const AVCodecDescriptor *d = avcodec_descriptor_get(codec);
	if (!d || codec == AV_CODEC_ID_MJPEG)
		return 0;
	return d->props & AV_CODEC_PROP_INTRA_ONLY || (d->props & AV_CODEC_PROP_LOSSLESS && !(d->props & AV_CODEC_PROP_LOSSY));
}
