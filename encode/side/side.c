#include "side.h"
#include <libavutil/hdr_dynamic_metadata.h>
#include <libavutil/mem.h>

int vf_hdr10plus(AVPacket *p, const uint8_t *t35, size_t size)
{
	size_t n = 0;
	AVDynamicHDRPlus *m = av_dynamic_hdr_plus_alloc(&n);
	if (!m)
		return AVERROR(ENOMEM);
	int err = av_dynamic_hdr_plus_from_t35(m, t35, size);
	if (err >= 0 && (err = av_packet_add_side_data(p, AV_PKT_DATA_DYNAMIC_HDR10_PLUS, (uint8_t *)m, n)) >= 0)
		return 0; // p owns it
	av_free(m);
	return err;
}
