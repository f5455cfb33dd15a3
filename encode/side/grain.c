#include "grain.h"
#include "../../internal/av/frameheader.h"

#include <libavutil/mem.h>

// FFmpeg's readers and writers of coded headers are in its static library, and not declared for
// users of it.
struct vf_grain {
	CodedBitstreamContext *in, *out;
	CodedBitstreamFragment unit;
	AV1RawFrameHeader *pictures[AV1_NUM_REF_FRAMES + AV1_MAX_OPERATING_POINTS];
	int count;
	int hint_bits;

	// The grain in the decoder's slots for reference pictures.
	struct slot {
		int hint;
		int has;
		AVFilmGrainAOMParams grain;
	} slots[AV1_NUM_REF_FRAMES];
};

static AV1RawSequenceHeader *sequence_of(CodedBitstreamUnit *u)
{
	return u->type == AV1_OBU_SEQUENCE_HEADER && u->content ? &((AV1RawOBU *)u->content)->obu.sequence_header : NULL;
}

int vf_has_grain(const AVCodecParameters *par)
{
	CodedBitstreamContext *c = NULL;
	CodedBitstreamFragment unit = {0};
	int has = 0;
	if (par->codec_id != AV_CODEC_ID_AV1 || !par->extradata_size || ff_cbs_init(&c, AV_CODEC_ID_AV1, NULL) < 0)
		return 0;
	if (ff_cbs_read_extradata(c, &unit, par) >= 0)
		for (int i = 0; i < unit.nb_units; i++) {
			const AV1RawSequenceHeader *s = sequence_of(&unit.units[i]);
			has |= s && s->film_grain_params_present;
		}
	ff_cbs_fragment_free(&unit);
	ff_cbs_close(&c);
	return has;
}

void vf_grain_close(struct vf_grain *g)
{
	if (!g)
		return;
	ff_cbs_fragment_free(&g->unit);
	ff_cbs_close(&g->in);
	ff_cbs_close(&g->out);
	av_free(g);
}

// Announces grain in the sequence headers of a unit. The reader keeps the header as it was, since
// the packets to come are of it.
static int announce(struct vf_grain *g)
{
	for (int i = 0; i < g->unit.nb_units; i++) {
		if (!sequence_of(&g->unit.units[i]))
			continue;
		int err = ff_cbs_make_unit_writable(g->in, &g->unit.units[i]);
		if (err < 0)
			return err;
		AV1RawSequenceHeader *s = sequence_of(&g->unit.units[i]);
		s->film_grain_params_present = 1;
		g->hint_bits = s->enable_order_hint ? s->order_hint_bits_minus_1 + 1 : 0;
	}
	return 0;
}

// Replaces an encoder's extradata by the bytes of the unit.
static int set_extradata(AVCodecContext *c, const CodedBitstreamFragment *unit)
{
	uint8_t *data = av_mallocz(unit->data_size + AV_INPUT_BUFFER_PADDING_SIZE);
	if (!data)
		return AVERROR(ENOMEM);
	memcpy(data, unit->data, unit->data_size);
	av_free(c->extradata);
	c->extradata = data;
	c->extradata_size = (int)unit->data_size;
	return 0;
}

int vf_grain_open(struct vf_grain **out, AVCodecContext *c)
{
	struct vf_grain *g = *out = av_mallocz(sizeof(*g));
	if (!g)
		return AVERROR(ENOMEM);
	int err;
	if ((err = ff_cbs_init(&g->in, AV_CODEC_ID_AV1, NULL)) < 0 || (err = ff_cbs_init(&g->out, AV_CODEC_ID_AV1, NULL)) < 0)
		return err;
	if (!c->extradata_size) // the header is in the packets alone
		return 0;
	if ((err = ff_cbs_read_extradata_from_codec(g->in, &g->unit, c)) >= 0 && (err = announce(g)) >= 0 &&
	    (err = ff_cbs_write_fragment_data(g->out, &g->unit)) >= 0)
		err = set_extradata(c, &g->unit);
	ff_cbs_fragment_reset(&g->unit);
	return err;
}

int vf_grain_hint_bits(const struct vf_grain *g) { return g->hint_bits; }

int vf_grain_read(struct vf_grain *g, const AVPacket *p, struct vf_picture *list, int size)
{
	int err = ff_cbs_read_packet(g->in, &g->unit, p);
	if (err < 0 || (err = announce(g)) < 0)
		return err;
	g->count = 0;
	for (int i = 0; i < g->unit.nb_units; i++) {
		AV1RawFrameHeader *h = vf_frame_header(&g->unit.units[i]);
		if (!h)
			continue;
		if (g->count == FF_ARRAY_ELEMS(g->pictures) || g->count == size)
			return AVERROR_INVALIDDATA;
		struct vf_picture *v = &list[g->count];
		g->pictures[g->count++] = h;
		v->hint = h->show_existing_frame ? g->slots[h->frame_to_show_map_idx].hint : h->order_hint;
		v->shown = h->show_existing_frame || h->show_frame;
		for (int s = 0; s < AV1_NUM_REF_FRAMES; s++)
			if (h->refresh_frame_flags >> s & 1)
				g->slots[s].hint = v->hint;
	}
	return g->count;
}

static void put_points(uint8_t *count, uint8_t *value, uint8_t *scaling, int n, const uint8_t (*points)[2])
{
	*count = n;
	for (int i = 0; i < n; i++) {
		value[i] = points[i][0];
		scaling[i] = points[i][1];
	}
}

static void put_weights(uint8_t *out, const int8_t *weights, int n)
{
	for (int i = 0; i < n; i++)
		out[i] = weights[i] + 128;
}

static void describe(AV1RawFilmGrainParams *f, const AVFilmGrainAOMParams *p)
{
	int weights = 2 * p->ar_coeff_lag * (p->ar_coeff_lag + 1);
	put_points(&f->num_y_points, f->point_y_value, f->point_y_scaling, p->num_y_points, p->y_points);
	f->chroma_scaling_from_luma = p->chroma_scaling_from_luma;
	put_points(&f->num_cb_points, f->point_cb_value, f->point_cb_scaling, p->num_uv_points[0], p->uv_points[0]);
	put_points(&f->num_cr_points, f->point_cr_value, f->point_cr_scaling, p->num_uv_points[1], p->uv_points[1]);
	f->grain_scaling_minus_8 = p->scaling_shift - 8;
	f->ar_coeff_lag = p->ar_coeff_lag;
	put_weights(f->ar_coeffs_y_plus_128, p->ar_coeffs_y, weights);
	put_weights(f->ar_coeffs_cb_plus_128, p->ar_coeffs_uv[0], weights + 1);
	put_weights(f->ar_coeffs_cr_plus_128, p->ar_coeffs_uv[1], weights + 1);
	f->ar_coeff_shift_minus_6 = p->ar_coeff_shift - 6;
	f->grain_scale_shift = p->grain_scale_shift;
	f->cb_mult = p->uv_mult[0] + 128;
	f->cb_luma_mult = p->uv_mult_luma[0] + 128;
	f->cb_offset = p->uv_offset[0] + 256;
	f->cr_mult = p->uv_mult[1] + 128;
	f->cr_luma_mult = p->uv_mult_luma[1] + 128;
	f->cr_offset = p->uv_offset[1] + 256;
	f->overlap_flag = p->overlap_flag;
	f->clip_to_restricted_range = p->limit_output_range;
}

// Returns a reference of the picture that has the same grain, or -1.
static int same_grain(const struct vf_grain *g, const AV1RawFrameHeader *h, const AVFilmGrainAOMParams *p)
{
	for (int i = 0; h->frame_type == AV1_FRAME_INTER && i < AV1_REFS_PER_FRAME; i++) {
		const struct slot *s = &g->slots[h->ref_frame_idx[i]];
		if (s->has && !memcmp(&s->grain, p, sizeof(*p)))
			return h->ref_frame_idx[i];
	}
	return -1;
}

void vf_grain_set(struct vf_grain *g, int i, const AVFilmGrainAOMParams *params, int seed)
{
	AV1RawFrameHeader *h = g->pictures[i];
	AV1RawFilmGrainParams *f = &h->film_grain;
	struct slot now = {0};
	if (h->show_existing_frame) {
		now = g->slots[h->frame_to_show_map_idx];
	} else if (params && (h->show_frame || h->showable_frame)) {
		now.has = 1;
		now.grain = *params;
		memset(f, 0, sizeof(*f));
		f->apply_grain = 1;
		f->grain_seed = seed;
		int reference = same_grain(g, h, params);
		f->update_grain = reference < 0;
		f->film_grain_params_ref_idx = FFMAX(reference, 0);
		describe(f, params);
	}
	for (int s = 0; s < AV1_NUM_REF_FRAMES; s++)
		if (h->refresh_frame_flags >> s & 1) {
			now.hint = g->slots[s].hint;
			g->slots[s] = now;
		}
}

int vf_grain_write(struct vf_grain *g, AVPacket *p)
{
	int err = ff_cbs_write_packet(g->out, p, &g->unit);
	ff_cbs_fragment_reset(&g->unit);
	return err;
}
