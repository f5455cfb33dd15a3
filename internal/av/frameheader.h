#ifndef VIDFILTER_AV_FRAMEHEADER_H
#define VIDFILTER_AV_FRAMEHEADER_H

#include <libavcodec/cbs.h>
#include <libavcodec/cbs_av1.h>

// Returns the header of a picture of AV1 in a unit, which owns it; NULL for other units.
static inline AV1RawFrameHeader *vf_frame_header(const CodedBitstreamUnit *u)
{
	AV1RawOBU *obu = u->content;
	switch (obu ? u->type : 0) {
	case AV1_OBU_FRAME_HEADER:
		return &obu->obu.frame_header;
	case AV1_OBU_FRAME:
		return &obu->obu.frame.header;
	}
	return NULL;
}

#endif
