//go:build !nolibav

#include "glue.h"

#include "_cgo_export.h"

static void forget(void *opaque, uint8_t *data)
{
	(void)data;
	vfForget((uintptr_t)opaque);
}

int vf_graph_mark(AVFrame *f, uintptr_t handle)
{
	av_buffer_unref(&f->opaque_ref);
	f->opaque_ref = av_buffer_create((uint8_t *)handle, 1, forget, (void *)handle, AV_BUFFER_FLAG_READONLY);
	if (f->opaque_ref)
		return 0;
	vfForget(handle);
	return AVERROR(ENOMEM);
}

void vf_graph_drop_hdr(AVFrame *f)
{
	static const enum AVFrameSideDataType kinds[] = {
		AV_FRAME_DATA_MASTERING_DISPLAY_METADATA, AV_FRAME_DATA_CONTENT_LIGHT_LEVEL, AV_FRAME_DATA_AMBIENT_VIEWING_ENVIRONMENT,
		AV_FRAME_DATA_DYNAMIC_HDR_PLUS, AV_FRAME_DATA_DYNAMIC_HDR_VIVID, AV_FRAME_DATA_DOVI_RPU_BUFFER, AV_FRAME_DATA_DOVI_METADATA,
	};
	for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
		av_frame_remove_side_data(f, kinds[i]);
}

int vf_graph_upright(AVFrame *f)
{
	int down = 1;
	for (int i = 0; i < 4 && f->data[i]; i++)
		down &= f->linesize[i] > 0;
	if (down)
		return 0;
	AVFrame *copy = av_frame_alloc();
	if (!copy)
		return AVERROR(ENOMEM);
	copy->format = f->format;
	copy->width = f->width;
	copy->height = f->height;
	int err = av_frame_get_buffer(copy, 0);
	if (err >= 0)
		err = av_frame_copy(copy, f);
	if (err >= 0)
		err = av_frame_copy_props(copy, f);
	if (err >= 0) {
		av_frame_unref(f);
		av_frame_move_ref(f, copy);
	}
	av_frame_free(&copy);
	return err;
}

void vf_graph_switch_off(AVFilterContext *f)
{
	av_opt_set(f, "enable", "0", 0);
}
