/* Hands out a picture's table of quantisers itself. A copy made where libavcodec makes one is of a
 * picture that another thread may still be decoding. */
#ifndef AVCODEC_VF_QP_H
#define AVCODEC_VF_QP_H

#include "libavutil/buffer.h"
#include "libavutil/error.h"
#include "libavutil/frame.h"
#include "libavutil/mem.h"
#include "libavutil/video_enc_params.h"
#include "refstruct.h"

/* The same in vidfilter's decode/glue.c. */
struct vf_qp {
    int type, mult, width, height, stride;
    const int8_t *table;
    int8_t *base;
};

static void vf_free_qp(void *opaque, uint8_t *data)
{
    struct vf_qp *q = (struct vf_qp *)data;
    ff_refstruct_unref(&q->base);
    av_free(q);
}

static inline int vf_export_qp(AVFrame *f, int type, int mult, int width, int height, int stride,
                               const int8_t *table, int8_t *base)
{
    struct vf_qp *q = av_malloc(sizeof(*q));
    if (!q)
        return AVERROR(ENOMEM);
    *q = (struct vf_qp){ type, mult, width, height, stride, table, ff_refstruct_ref(base) };
    av_buffer_unref(&f->opaque_ref);
    f->opaque_ref = av_buffer_create((uint8_t *)q, sizeof(*q), vf_free_qp, NULL, AV_BUFFER_FLAG_READONLY);
    if (f->opaque_ref)
        return 0;
    vf_free_qp(NULL, (uint8_t *)q);
    return AVERROR(ENOMEM);
}

#endif
