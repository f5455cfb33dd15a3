#include "nvenc.h"
#include <stdlib.h>
#include <string.h>

#include <ffnvcodec/nvEncodeAPI.h>

const unsigned vf_encode_needs = NVENCAPI_MAJOR_VERSION << 4 | NVENCAPI_MINOR_VERSION;

int vf_encode_has(const struct vf_nvenc *l, unsigned *version) { return l->version(version); }

struct vf_session {
	NV_ENCODE_API_FUNCTION_LIST call;
	void *handle;
};

int vf_session_open(vf_encode_instance *instance, CUcontext context, struct vf_session **session)
{
	struct vf_session *s = calloc(1, sizeof *s);
	if (!s)
		return NV_ENC_ERR_OUT_OF_MEMORY;
	s->call.version = NV_ENCODE_API_FUNCTION_LIST_VER;
	NV_ENC_OPEN_ENCODE_SESSION_EX_PARAMS p = {
		.version = NV_ENC_OPEN_ENCODE_SESSION_EX_PARAMS_VER, .deviceType = NV_ENC_DEVICE_TYPE_CUDA,
		.device = context, .apiVersion = NVENCAPI_VERSION,
	};
	int err = instance(&s->call);
	if (!err)
		err = s->call.nvEncOpenEncodeSessionEx(&p, &s->handle);
	if (err) {
		if (s->handle) // also of a session that failed to open
			s->call.nvEncDestroyEncoder(s->handle);
		free(s);
		return err;
	}
	*session = s;
	return NV_ENC_SUCCESS;
}

static int cap(struct vf_session *s, GUID codec, NV_ENC_CAPS which, int *value)
{
	NV_ENC_CAPS_PARAM p = {.version = NV_ENC_CAPS_PARAM_VER, .capsToQuery = which};
	return s->call.nvEncGetEncodeCaps(s->handle, codec, &p, value);
}

static int has(struct vf_session *s, GUID codec, int *yes)
{
	uint32_t count = 0;
	int err = s->call.nvEncGetEncodeGUIDCount(s->handle, &count);
	GUID *all = calloc(count ? count : 1, sizeof *all);
	if (!all)
		return NV_ENC_ERR_OUT_OF_MEMORY;
	if (!err)
		err = s->call.nvEncGetEncodeGUIDs(s->handle, all, count, &count);
	*yes = 0;
	for (uint32_t i = 0; !err && i < count; i++)
		*yes |= !memcmp(&all[i], &codec, sizeof codec);
	free(all);
	return err;
}

int vf_session_caps(struct vf_session *s, const char *name, struct vf_encode_caps *c)
{
	*c = (struct vf_encode_caps){0};
	GUID codec;
	if (!strcmp(name, "h264"))
		codec = NV_ENC_CODEC_H264_GUID;
	else if (!strcmp(name, "hevc"))
		codec = NV_ENC_CODEC_HEVC_GUID;
	else if (!strcmp(name, "av1"))
		codec = NV_ENC_CODEC_AV1_GUID;
	else
		return NV_ENC_SUCCESS;
	int err = has(s, codec, &c->supported);
	if (err || !c->supported)
		return err;
	const struct {
		NV_ENC_CAPS which;
		int *to;
	} caps[] = {
		{NV_ENC_CAPS_SUPPORT_10BIT_ENCODE, &c->deep}, {NV_ENC_CAPS_SUPPORT_YUV444_ENCODE, &c->full},
		{NV_ENC_CAPS_NUM_ENCODER_ENGINES, &c->engines},
		{NV_ENC_CAPS_WIDTH_MIN, &c->min_width}, {NV_ENC_CAPS_HEIGHT_MIN, &c->min_height},
		{NV_ENC_CAPS_WIDTH_MAX, &c->width}, {NV_ENC_CAPS_HEIGHT_MAX, &c->height}, {NV_ENC_CAPS_MB_NUM_MAX, &c->macroblocks},
	};
	for (size_t i = 0; !err && i < sizeof caps / sizeof *caps; i++)
		err = cap(s, codec, caps[i].which, caps[i].to);
	// FFmpeg 7.1 has neither of these.
	if (codec.Data1 == NV_ENC_CODEC_H264_GUID.Data1)
		c->deep = 0;
	if (codec.Data1 == NV_ENC_CODEC_AV1_GUID.Data1)
		c->full = 0;
	return err;
}

void vf_session_close(struct vf_session *s)
{
	s->call.nvEncDestroyEncoder(s->handle);
	free(s);
}
