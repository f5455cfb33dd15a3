#ifndef VIDFILTER_LAYOUTS_H
#define VIDFILTER_LAYOUTS_H

// pipeline.Layout.Arrangement, in its order: see TestLayouts.
enum { VF_YUV420P = 1, VF_YUV422P, VF_YUV444P, VF_NV12, VF_RGBA, VF_NV16, VF_NV24, VF_GRAY, VF_GBRP };

#endif
