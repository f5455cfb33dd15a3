// Texture objects over linear memory with one float per texel, the only kind used here. Others are
// refused.
#include "texture.h"

#include "grid.h"
#include "memory.h"

namespace {

// As on real devices: alignment and maximum size of a texture in linear memory.
constexpr uint64_t ALIGNMENT = 512;
constexpr size_t MOST_TEXELS = 1 << 27;

struct Texture {
	Context *context;
	uint64_t begin;
	size_t size; // bytes
};

Handles<Texture, CUtexObject, 0x56> textures;

// Only the parameters used here are supported.
bool supported(const CUDA_RESOURCE_DESC &memory, const CUDA_TEXTURE_DESC &desc) {
	return memory.resType == CU_RESOURCE_TYPE_LINEAR && memory.res.linear.format == CU_AD_FORMAT_FLOAT && memory.res.linear.numChannels == 1 &&
	       desc.filterMode == CU_TR_FILTER_MODE_POINT && !(desc.flags & CU_TRSF_NORMALIZED_COORDINATES);
}

} // namespace

void free_textures(Context &context) {
	textures.each([&](CUtexObject handle, Texture &t) {
		if (t.context != &context) return;
		report_leak(context, "leak: a texture");
		textures.remove(handle);
		delete &t;
	});
}

CUresult cuTexObjectCreate(CUtexObject *handle, const CUDA_RESOURCE_DESC *memory, const CUDA_TEXTURE_DESC *desc,
                           const CUDA_RESOURCE_VIEW_DESC *view) {
	return in_context("cuTexObjectCreate", [&](Context &context) {
		if (!memory || !desc) return CUDA_ERROR_INVALID_VALUE;
		if (view || !supported(*memory, *desc)) return CUDA_ERROR_NOT_SUPPORTED;
		uint64_t begin = memory->res.linear.devPtr;
		size_t size = memory->res.linear.sizeInBytes;
		note(" bytes=%zu", size);
		const Memory *m = find_memory(begin, size);
		if (!m || m->kind != Memory::DEVICE || m->context != &context) return CUDA_ERROR_INVALID_VALUE;
		if (begin % ALIGNMENT || !size || size / 4 > MOST_TEXELS) return CUDA_ERROR_INVALID_VALUE;
		*handle = textures.add(new Texture{&context, begin, size});
		return CUDA_SUCCESS;
	});
}

CUresult cuTexObjectDestroy(CUtexObject handle) {
	return in_context("cuTexObjectDestroy", [&](Context &context) {
		Texture *t = textures.find(handle);
		if (!t || t->context != &context) return CUDA_ERROR_INVALID_VALUE;
		textures.remove(handle);
		delete t;
		return CUDA_SUCCESS;
	});
}

// Texels beyond the ends of linear memory are 0, but the memory must still exist.
float vf_texel(uint64_t handle, int32_t x) {
	const Texture *t = textures.find(handle);
	if (!t || t->context != running_context()) vf_fail(CUDA_ERROR_ILLEGAL_ADDRESS, "reads the texture %#llx, which there is not", (unsigned long long)handle);
	const Memory *m = find_memory(t->begin, t->size);
	if (!m) vf_fail(CUDA_ERROR_ILLEGAL_ADDRESS, "reads a texture of memory that was freed");
	if (x < 0 || (size_t)x >= t->size / 4) return 0;
	return ((const float *)(m->host + (t->begin - m->begin)))[x];
}
