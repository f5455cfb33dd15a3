#include "av1.h"
#include "../internal/av/frameheader.h"

#include <libavutil/mem.h>

// AV1 has VP9's table of steps for coefficients other than the first: of 8, 10 and 12 bits.
extern const int16_t ff_vp9_ac_qlookup[3][256];

struct vf_av1 {
	CodedBitstreamContext *reader;
	CodedBitstreamFragment unit;
	float slots[AV1_NUM_REF_FRAMES]; // of the pictures that a header may show later
};

struct vf_av1 *vf_av1_open(const AVCodecParameters *par)
{
	struct vf_av1 *a = par->codec_id == AV_CODEC_ID_AV1 ? av_mallocz(sizeof(*a)) : NULL;
	if (a && ff_cbs_init(&a->reader, AV_CODEC_ID_AV1, NULL) < 0)
		av_freep(&a);
	if (a && par->extradata_size) {
		ff_cbs_read_extradata(a->reader, &a->unit, par); // packets have the header, too
		ff_cbs_fragment_reset(&a->unit);
	}
	return a;
}

void vf_av1_close(struct vf_av1 *a)
{
	if (!a)
		return;
	ff_cbs_fragment_free(&a->unit);
	ff_cbs_close(&a->reader);
	av_free(a);
}

// The step of a picture, in 8-bit levels of an orthonormal transform: AV1's coefficients are 8
// times as large.
static float step_of(const AV1RawFrameHeader *h)
{
	return ff_vp9_ac_qlookup[0][h->base_q_idx] / 8.0f;
}

float vf_av1_step(struct vf_av1 *a, const AVPacket *p)
{
	float shown = 0;
	if (ff_cbs_read_packet(a->reader, &a->unit, p) < 0) {
		ff_cbs_fragment_reset(&a->unit);
		return 0;
	}
	for (int i = 0; i < a->unit.nb_units; i++) {
		const AV1RawFrameHeader *h = vf_frame_header(&a->unit.units[i]);
		if (!h)
			continue;
		float step = h->show_existing_frame ? a->slots[h->frame_to_show_map_idx] : step_of(h);
		if (h->show_existing_frame || h->show_frame)
			shown = step;
		for (int s = 0; s < AV1_NUM_REF_FRAMES; s++)
			if (h->refresh_frame_flags >> s & 1)
				a->slots[s] = step;
	}
	ff_cbs_fragment_reset(&a->unit);
	return shown;
}
