// Copies. Those with pinned memory run when their stream does; until then their destination in
// host memory holds poison. Pageable memory is read at the call and written before it returns, as
// by real drivers.
#include <string.h>

#include "memory.h"
#include "stream.h"

namespace {

enum Place { HOST, ON_DEVICE };

// Rows in host or device memory.
struct Area {
	Place place;
	uint64_t address;
	size_t pitch;
	const Memory *memory = nullptr; // stays null for the host's pageable memory
	uint8_t *host() const { return memory ? memory->host + (address - memory->begin) : (uint8_t *)address; }
};

struct Size {
	size_t width, height; // bytes, rows
	size_t span(const Area &a) const { return a.pitch * (height - 1) + width; }
};

struct Copy : Work {
	Area to, from;
	Size size;
	std::vector<uint8_t> read; // the source, if read ahead of run

	Copy(const Area &t, const Area &f, const Size &s) : to(t), from(f), size(s) {}

	CUresult run() override {
		for (size_t y = 0; y < size.height; y++)
			memmove(to.host() + y * to.pitch, read.empty() ? row(y) : read.data() + y * size.width, size.width);
		return CUDA_SUCCESS;
	}
	void read_now(const uint8_t *memory, size_t n) override {
		if (from.place == ON_DEVICE || !read.empty()) return;
		if (memory < from.host() + size.span(from) && from.host() < memory + n) read_all();
	}
	void read_all() {
		read.resize(size.width * size.height);
		for (size_t y = 0; y < size.height; y++) memcpy(read.data() + y * size.width, row(y), size.width);
	}

private:
	const uint8_t *row(size_t y) const { return from.host() + y * from.pitch; }
};

// Finds the memory of an area; false if any part of it lies elsewhere.
bool locate(Area &a, const Size &size, const Context &context) {
	a.memory = find_memory(a.address, size.span(a));
	bool on_device = a.memory && a.memory->kind == Memory::DEVICE;
	if (a.place == ON_DEVICE) return on_device && a.memory->context == &context;
	if (a.memory) return !on_device;
	// Pageable memory must not begin in pinned memory and extend past its end.
	return a.address && a.address < FIRST_ADDRESS && !find_memory(a.address, 1);
}

Engine engine(const Area &to, const Area &from) {
	if (to.place == HOST) return COPY_OUT;
	return from.place == ON_DEVICE ? KERNELS : COPY_IN;
}

// 2 us, and 50 GB/s over the bus.
int64_t duration(const Size &size) { return 2000 + (int64_t)(size.width * size.height / 50); }

enum When { LATER, NOW };

CUresult copy(Stream &stream, Area to, Area from, const Size &size, When when) {
	note(" bytes=%zu", size.width * size.height);
	if (!size.width || !size.height) return CUDA_SUCCESS;
	if (!locate(to, size, *stream.context) || !locate(from, size, *stream.context)) return CUDA_ERROR_INVALID_VALUE;
	auto *work = new Copy(to, from, size);
	if (!from.memory) work->read_all();
	if (when == LATER && to.place == HOST && to.memory) {
		read_all_now(*stream.context, to.host(), size.span(to));
		for (size_t y = 0; y < size.height; y++) poison(to.host() + y * to.pitch, size.width);
	}
	stream.put(work, engine(to, from), duration(size));
	return when == NOW || !to.memory ? run_until(stream.now()) : CUDA_SUCCESS;
}

CUresult copy_line(const char *name, CUstream stream, Place to_place, uint64_t to, Place from_place, uint64_t from, size_t n,
                   When when) {
	return in_stream(name, stream, [&](Stream &s) { return copy(s, {to_place, to, n}, {from_place, from, n}, {n, 1}, when); });
}

// Sets one side of a copy of rows; false for unsupported types of memory.
bool side(Area &a, CUmemorytype type, const void *host, CUdeviceptr device, size_t pitch, size_t x, size_t y) {
	if (type != CU_MEMORYTYPE_HOST && type != CU_MEMORYTYPE_DEVICE) return false;
	a = {type == CU_MEMORYTYPE_HOST ? HOST : ON_DEVICE, type == CU_MEMORYTYPE_HOST ? (uint64_t)host : device, pitch};
	a.address += y * pitch + x;
	return true;
}

CUresult copy_rows(const char *name, CUstream stream, const CUDA_MEMCPY2D &c, When when) {
	return in_stream(name, stream, [&](Stream &s) {
		Area to, from;
		if (!side(to, c.dstMemoryType, c.dstHost, c.dstDevice, c.dstPitch, c.dstXInBytes, c.dstY) ||
		    !side(from, c.srcMemoryType, c.srcHost, c.srcDevice, c.srcPitch, c.srcXInBytes, c.srcY))
			return CUDA_ERROR_NOT_SUPPORTED;
		if (c.srcPitch < c.srcXInBytes + c.WidthInBytes || c.dstPitch < c.dstXInBytes + c.WidthInBytes)
			return CUDA_ERROR_INVALID_VALUE;
		return copy(s, to, from, {c.WidthInBytes, c.Height}, when);
	});
}

} // namespace

CUresult cuMemcpyHtoD(CUdeviceptr dst, const void *src, size_t n) {
	return copy_line("cuMemcpyHtoD", nullptr, ON_DEVICE, dst, HOST, (uint64_t)src, n, NOW);
}
CUresult cuMemcpyDtoH(void *dst, CUdeviceptr src, size_t n) {
	return copy_line("cuMemcpyDtoH", nullptr, HOST, (uint64_t)dst, ON_DEVICE, src, n, NOW);
}
CUresult cuMemcpyDtoD(CUdeviceptr dst, CUdeviceptr src, size_t n) {
	return copy_line("cuMemcpyDtoD", nullptr, ON_DEVICE, dst, ON_DEVICE, src, n, LATER);
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr dst, const void *src, size_t n, CUstream stream) {
	return copy_line("cuMemcpyHtoDAsync", stream, ON_DEVICE, dst, HOST, (uint64_t)src, n, LATER);
}
CUresult cuMemcpyDtoHAsync(void *dst, CUdeviceptr src, size_t n, CUstream stream) {
	return copy_line("cuMemcpyDtoHAsync", stream, HOST, (uint64_t)dst, ON_DEVICE, src, n, LATER);
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr dst, CUdeviceptr src, size_t n, CUstream stream) {
	return copy_line("cuMemcpyDtoDAsync", stream, ON_DEVICE, dst, ON_DEVICE, src, n, LATER);
}
CUresult cuMemcpy2D(const CUDA_MEMCPY2D *c) { return copy_rows("cuMemcpy2D", nullptr, *c, NOW); }
CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D *c, CUstream stream) { return copy_rows("cuMemcpy2DAsync", stream, *c, LATER); }
