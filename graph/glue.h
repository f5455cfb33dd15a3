#ifndef VIDFILTER_GRAPH_GLUE_H
#define VIDFILTER_GRAPH_GLUE_H
#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavfilter/buffersrc.h>
#include <libavutil/frame.h>
#include <libavutil/opt.h>
#include <stdint.h>

// Marks a frame, and filters' results from it, with a handle, as the data of opaque_ref.
// vfForget(handle) runs once: when the last of these frames has gone, on any thread, or, if this
// fails, before it returns.
int vf_graph_mark(AVFrame *f, uintptr_t handle);

// Removes a frame's HDR metadata, which another transfer function makes untrue.
void vf_graph_drop_hdr(AVFrame *f);

// Makes the rows of a frame run downwards, by a copy where they do not. Returns a negative AVERROR
// when out of memory.
int vf_graph_upright(AVFrame *f);

// Has a filter with AVFILTER_FLAG_SUPPORT_TIMELINE, which is not initialised yet, leave frames as
// they are.
void vf_graph_switch_off(AVFilterContext *f);
#endif
