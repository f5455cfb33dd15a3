// Copies. What goes to and from pinned memory does so when its turn comes; until then the place where a result will be holds
// poison. Pageable memory is read at the call, and written before it returns, as real drivers do.
#include <string.h>

#include "memory.h"
#include "stream.h"

namespace {

// Rows in some memory.
struct Area {
	uint64_t address;
	size_t pitch;
	const Memory *memory; // null for the host's pageable memory
	uint8_t *host() const { return memory ? memory->host + (address - memory->begin) : (uint8_t *)address; }
	bool on_device() const { return memory && memory->kind == Memory::DEVICE; }
};

struct Size {
	size_t width, height; // bytes, rows
	size_t span(const Area &a) const { return a.pitch * (height - 1) + width; }
};

struct Copy : Work {
	Area to, from;
	Size size;
	std::vector<uint8_t> read; // what was read before its time

	Copy(const Area &t, const Area &f, const Size &s) : to(t), from(f), size(s) {}

	CUresult run() override {
		for (size_t y = 0; y < size.height; y++)
			memmove(to.host() + y * to.pitch, read.empty() ? row(y) : read.data() + y * size.width, size.width);
		return CUDA_SUCCESS;
	}
	void read_now(const uint8_t *memory, size_t n) override {
		if (from.on_device() || !read.empty()) return;
		if (memory < from.host() + size.span(from) && from.host() < memory + n) read_all();
	}
	void read_all() {
		read.resize(size.width * size.height);
		for (size_t y = 0; y < size.height; y++) memcpy(read.data() + y * size.width, row(y), size.width);
	}

private:
	const uint8_t *row(size_t y) const { return from.host() + y * from.pitch; }
};

enum Place { HOST, ON_DEVICE, ANYWHERE };

// Finds the memory of an area; false where some of it is not where it should be.
bool locate(Area &a, Place place, const Size &size, const Context &context) {
	if (a.pitch < size.width) return false;
	a.memory = find_memory(a.address, size.span(a));
	if (a.on_device()) return place != HOST && a.memory->context == &context;
	if (place == ON_DEVICE || !a.address || a.address >> 47) return false;
	return a.memory || !find_memory(a.address, 1); // not over the edge of pinned memory
}

Engine engine(const Area &to, const Area &from) {
	if (to.on_device()) return from.on_device() ? KERNELS : COPY_IN;
	return from.on_device() ? COPY_OUT : NO_ENGINE;
}

// 50 GB/s over the bus.
int64_t duration(const Size &size) { return 2000 + (int64_t)(size.width * size.height / 50); }

enum When { LATER, NOW };

CUresult copy(Stream &stream, Area to, Place to_place, Area from, Place from_place, const Size &size, When when) {
	note(" bytes=%zu", size.width * size.height);
	if (!size.width || !size.height) return CUDA_SUCCESS;
	if (!locate(to, to_place, size, *stream.context) || !locate(from, from_place, size, *stream.context))
		return CUDA_ERROR_INVALID_VALUE;
	auto *work = new Copy(to, from, size);
	if (!from.memory) work->read_all();
	if (when == LATER && to.memory && !to.on_device() && from.on_device()) {
		read_all_now(*stream.context, to.host(), size.span(to));
		for (size_t y = 0; y < size.height; y++) poison(to.host() + y * to.pitch, size.width);
	}
	stream.put(work, engine(to, from), duration(size));
	return when == NOW || !to.memory ? run_until(stream.now()) : CUDA_SUCCESS;
}

CUresult copy_line(const char *name, CUstream stream, uint64_t to, Place to_place, uint64_t from, Place from_place, size_t n,
                   When when) {
	return in_stream(name, stream, [&](Stream &s) {
		return copy(s, {to, n, nullptr}, to_place, {from, n, nullptr}, from_place, {n, 1}, when);
	});
}

CUresult copy_rows(const char *name, CUstream stream, const CUDA_MEMCPY2D &c, When when) {
	return in_stream(name, stream, [&](Stream &s) {
		auto place = [](CUmemorytype t) { return t == CU_MEMORYTYPE_HOST ? HOST : t == CU_MEMORYTYPE_DEVICE ? ON_DEVICE : ANYWHERE; };
		if (c.srcMemoryType == CU_MEMORYTYPE_ARRAY || c.dstMemoryType == CU_MEMORYTYPE_ARRAY) return CUDA_ERROR_NOT_SUPPORTED;
		if (c.srcPitch < c.srcXInBytes + c.WidthInBytes || c.dstPitch < c.dstXInBytes + c.WidthInBytes)
			return CUDA_ERROR_INVALID_VALUE;
		uint64_t from = place(c.srcMemoryType) == HOST ? (uint64_t)c.srcHost : c.srcDevice;
		uint64_t to = place(c.dstMemoryType) == HOST ? (uint64_t)c.dstHost : c.dstDevice;
		from += c.srcY * c.srcPitch + c.srcXInBytes;
		to += c.dstY * c.dstPitch + c.dstXInBytes;
		return copy(s, {to, c.dstPitch, nullptr}, place(c.dstMemoryType), {from, c.srcPitch, nullptr}, place(c.srcMemoryType),
		            {c.WidthInBytes, c.Height}, when);
	});
}

} // namespace

CUresult cuMemcpyHtoD(CUdeviceptr dst, const void *src, size_t n) {
	return copy_line("cuMemcpyHtoD", nullptr, dst, ON_DEVICE, (uint64_t)src, HOST, n, NOW);
}
CUresult cuMemcpyDtoH(void *dst, CUdeviceptr src, size_t n) {
	return copy_line("cuMemcpyDtoH", nullptr, (uint64_t)dst, HOST, src, ON_DEVICE, n, NOW);
}
CUresult cuMemcpyDtoD(CUdeviceptr dst, CUdeviceptr src, size_t n) {
	return copy_line("cuMemcpyDtoD", nullptr, dst, ON_DEVICE, src, ON_DEVICE, n, LATER);
}
CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t n) {
	return copy_line("cuMemcpy", nullptr, dst, ANYWHERE, src, ANYWHERE, n, NOW);
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr dst, const void *src, size_t n, CUstream stream) {
	return copy_line("cuMemcpyHtoDAsync", stream, dst, ON_DEVICE, (uint64_t)src, HOST, n, LATER);
}
CUresult cuMemcpyDtoHAsync(void *dst, CUdeviceptr src, size_t n, CUstream stream) {
	return copy_line("cuMemcpyDtoHAsync", stream, (uint64_t)dst, HOST, src, ON_DEVICE, n, LATER);
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream stream) {
	return copy_line("cuMemcpyDtoDAsync", stream, dst, ON_DEVICE, src, ON_DEVICE, n, LATER);
}
CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream stream) {
	return copy_line("cuMemcpyAsync", stream, dst, ANYWHERE, src, ANYWHERE, n, LATER);
}
CUresult cuMemcpy2D(const CUDA_MEMCPY2D *c) { return copy_rows("cuMemcpy2D", nullptr, *c, NOW); }
CUresult cuMemcpy2DUnaligned(const CUDA_MEMCPY2D *c) { return copy_rows("cuMemcpy2D", nullptr, *c, NOW); }
CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D *c, CUstream stream) { return copy_rows("cuMemcpy2DAsync", stream, *c, LATER); }
