#include "nvdec.h"
#include <string.h>

#ifndef CUDAAPI
#define CUDAAPI
#endif
#include <ffnvcodec/dynlink_cuviddec.h>

static const struct {
	const char *name;
	cudaVideoCodec codec;
} codecs[] = {
	{"h264", cudaVideoCodec_H264}, {"hevc", cudaVideoCodec_HEVC}, {"vp9", cudaVideoCodec_VP9},
	{"mpeg2video", cudaVideoCodec_MPEG2},
};

const char *vf_decoded_codec(int i)
{
	return i < (int)(sizeof codecs / sizeof *codecs) ? codecs[i].name : NULL;
}

CUresult vf_decodes(vf_decoder_caps *ask, const char *name, int chroma, int depth, struct vf_caps *to)
{
	*to = (struct vf_caps){0};
	for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
		if (strcmp(name, codecs[i].name))
			continue;
		CUVIDDECODECAPS c = {
			.eCodecType = codecs[i].codec, .nBitDepthMinus8 = (unsigned)depth - 8,
			.eChromaFormat = chroma == 444 ? cudaVideoChromaFormat_444 : chroma == 422 ? cudaVideoChromaFormat_422 : cudaVideoChromaFormat_420,
		};
		CUresult err = ask(&c);
		if (err)
			return err;
		*to = (struct vf_caps){c.bIsSupported, c.nNumNVDECs, c.nMinWidth, c.nMinHeight, c.nMaxWidth, c.nMaxHeight, c.nMaxMBCount};
	}
	return CUDA_SUCCESS;
}
