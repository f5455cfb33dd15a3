// A libnvcuvid for tests, beside the test driver's libcuda. It does not decode: it maps the
// pictures of a file, in the order of their output. It checks that its user follows the API, and
// complains as the test driver does. Options are in VIDFILTER_TESTDECODER; testdriver.go lists
// them.
#include <cuda.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <vector>

#define CUDAAPI
#define EXPORT extern "C" __attribute__((visibility("default")))
#include <ffnvcodec/dynlink_cuviddec.h>
#include <ffnvcodec/dynlink_nvcuvid.h>

#include "inside.h"

namespace {

void complain(const char *format, ...) {
	char text[1000];
	va_list list;
	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	fprintf(stderr, "vidfilter test driver: nvcuvid: %s\n", text);
}

struct Config {
	char frames[900] = "", hang[100] = "";
	std::map<uint32_t, long> starts; // numbers of pictures, by the hash of their slices
	long first = 0, corrupt = 0, decode = 0, map = 0, create = 0, none = 0, device = -1, again = 0;
	Config() {
		const char *text = getenv("VIDFILTER_TESTDECODER");
		char *copy = strdup(text ? text : ""), *rest;
		for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(nullptr, ",", &rest)) {
			char *value = strchr(word, '=');
			if (value) *value++ = 0;
			const struct {
				const char *name;
				long *to;
			} numbers[] = {{"first", &first}, {"corrupt", &corrupt}, {"decode", &decode}, {"map", &map}, {"create", &create}, {"none", &none}, {"device", &device}, {"again", &again}};
			bool known = false;
			for (auto &n : numbers)
				if (value && !strcmp(word, n.name)) known = true, *n.to = atol(value);
			if (value && !strcmp(word, "frames")) known = true, snprintf(frames, sizeof frames, "%s", value);
			if (value && !strcmp(word, "hang")) known = true, snprintf(hang, sizeof hang, "%s", value);
			if (value && !strcmp(word, "starts")) known = read_starts(value);
			if (!known) complain("unknown option %s", word);
		}
		free(copy);
	}
	bool read_starts(const char *value) {
		uint32_t hash;
		long number;
		for (int n; sscanf(value, "%x:%ld%n", &hash, &number, &n) == 2; value += n + (value[n] == '/')) starts[hash] = number;
		return !*value;
	}
};

Config &config() {
	static Config c;
	return c;
}

// The header of the file. Pictures follow: the planes of a surface, without padding.
struct Header {
	int32_t width, height, left, top; // the visible size, and its place in the coded one
	int32_t bytes, planes;            // of a sample; 2: luma, pairs of chroma; 3: 4:4:4
};

std::mutex lock;
long decoded, mapped, created; // by all decoders of the process, or of the device that faults are for

// Reports whether faults are for the current context's device.
bool faulty() {
	return config().device < 0 || vf_device_of(vf_current()) == config().device;
}

struct Surface {
	bool decoded = false;
	long start = -1; // number of the picture, if it is a start
};

struct Decoder {
	CUVIDDECODECREATEINFO info;
	CUcontext context;
	CUdeviceptr memory = 0;
	size_t pitch = 0;
	bool is_mapped = false;
	std::vector<Surface> surfaces;
	int last = -1; // the index that was mapped last
	long next = -1; // number of the next picture to come, with starts or again
	bool bad = false;

	int bytes() const { return info.OutputFormat == cudaVideoSurfaceFormat_P016 || info.OutputFormat == cudaVideoSurfaceFormat_YUV444_16Bit ? 2 : 1; }
	bool is_444() const { return info.OutputFormat == cudaVideoSurfaceFormat_YUV444 || info.OutputFormat == cudaVideoSurfaceFormat_YUV444_16Bit; }
	size_t rows() const { return info.ulTargetHeight * (is_444() ? 3 : 1) + (is_444() ? 0 : (info.ulTargetHeight + 1) / 2); }
};

// Takes the lock. A call that hangs does not, so that it holds up no other decoder.
std::unique_lock<std::mutex> enter(const char *call) {
	while (!strcmp(config().hang, call)) pause();
	return std::unique_lock<std::mutex>(lock);
}

bool in_context(const Decoder *d, const char *call) {
	CUcontext now = vf_current();
	if (now && (!d || now == d->context)) return true;
	complain("%s without the context", call);
	return false;
}

bool supported(const CUVIDDECODECAPS &c) {
	bool deep = c.nBitDepthMinus8 == 0 || c.nBitDepthMinus8 == 2 || c.nBitDepthMinus8 == 4;
	bool is_420 = c.eChromaFormat == cudaVideoChromaFormat_420;
	switch (*config().frames && !(config().none && faulty()) ? c.eCodecType : cudaVideoCodec_NumCodecs) {
	case cudaVideoCodec_MPEG2:
	case cudaVideoCodec_H264: return is_420 && c.nBitDepthMinus8 == 0;
	case cudaVideoCodec_HEVC: return deep && (is_420 || c.eChromaFormat == cudaVideoChromaFormat_444);
	case cudaVideoCodec_VP9: return deep && is_420;
	case cudaVideoCodec_AV1: return is_420 && c.nBitDepthMinus8 <= 2;
	default: return false;
	}
}

// FNV-1a of a slice, without its start code.
uint32_t hash_of(const unsigned char *data, unsigned size) {
	uint32_t hash = 2166136261;
	for (unsigned i = 3; i < size; i++) hash = (hash ^ data[i]) * 16777619;
	return hash;
}

// Lays picture n of the file out as the decoder's surface. The invisible part is not black.
bool read_picture(const Decoder &d, long n, std::vector<uint8_t> &to) {
	FILE *f = fopen(config().frames, "rb");
	if (!f) return complain("no file %s", config().frames), false;
	Header h;
	bool ok = fread(&h, sizeof h, 1, f) == 1 && h.bytes == d.bytes() && (h.planes == 3) == d.is_444() &&
	          (size_t)(h.left + h.width) <= d.info.ulTargetWidth && (size_t)(h.top + h.height) <= d.info.ulTargetHeight;
	if (!ok) {
		complain("the file's pictures do not fit a surface of %lux%lu, %d bytes", d.info.ulTargetWidth, d.info.ulTargetHeight, d.bytes());
		fclose(f);
		return false;
	}
	struct Part {
		size_t row, x, y, width, height;
	};
	std::vector<Part> parts;
	size_t w = (size_t)h.width * (size_t)h.bytes, x = (size_t)h.left * (size_t)h.bytes, lines = d.info.ulTargetHeight;
	size_t height = (size_t)h.height, y = (size_t)h.top;
	parts.push_back({0, x, y, w, height});
	if (h.planes == 3) {
		parts.push_back({lines, x, y, w, height});
		parts.push_back({2 * lines, x, y, w, height});
	} else {
		size_t pairs = ((size_t)h.width + 1) / 2 * 2 * (size_t)h.bytes;
		parts.push_back({lines, (size_t)h.left / 2 * 2 * (size_t)h.bytes, y / 2, pairs, (height + 1) / 2});
	}
	size_t size = 0;
	for (auto &p : parts) size += p.width * p.height;
	to.assign(d.pitch * d.rows(), 0x5a);
	ok = fseek(f, (long)(sizeof h + size * (size_t)n), SEEK_SET) == 0;
	for (auto &p : parts)
		for (size_t row = 0; ok && row < p.height; row++)
			ok = fread(&to[(p.row + p.y + row) * d.pitch + p.x], p.width, 1, f) == 1;
	fclose(f);
	if (!ok) complain("picture %ld is not in the file", n);
	return ok;
}

} // namespace

EXPORT CUresult cuvidGetDecoderCaps(CUVIDDECODECAPS *c) {
	if (!in_context(nullptr, "cuvidGetDecoderCaps")) return CUDA_ERROR_INVALID_CONTEXT;
	c->bIsSupported = supported(*c);
	if (!c->bIsSupported) return CUDA_SUCCESS;
	c->nNumNVDECs = 7;
	c->nMinWidth = c->nMinHeight = 48;
	c->nMaxWidth = c->nMaxHeight = c->eCodecType == cudaVideoCodec_H264 || c->eCodecType == cudaVideoCodec_MPEG2 ? 4096 : 8192;
	c->nMaxMBCount = c->nMaxWidth * c->nMaxHeight / 256;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuvidCreateDecoder(CUvideodecoder *handle, CUVIDDECODECREATEINFO *info) {
	auto guard = enter("cuvidCreateDecoder");
	if (!in_context(nullptr, "cuvidCreateDecoder")) return CUDA_ERROR_INVALID_CONTEXT;
	if (faulty() && config().create && ++created >= config().create) return CUDA_ERROR_OUT_OF_MEMORY;
	if (info->ulNumDecodeSurfaces < 1 || info->ulNumDecodeSurfaces > 32) {
		complain("%lu surfaces", info->ulNumDecodeSurfaces);
		return CUDA_ERROR_INVALID_VALUE;
	}
	auto *d = new Decoder{};
	d->info = *info;
	d->surfaces.resize(info->ulNumDecodeSurfaces);
	d->context = vf_current();
	d->pitch = (info->ulTargetWidth * (size_t)d->bytes() + 511) / 512 * 512;
	if (CUresult err = cuMemAlloc(&d->memory, d->pitch * d->rows())) {
		delete d;
		return err;
	}
	*handle = d;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuvidDestroyDecoder(CUvideodecoder handle) {
	auto guard = enter("cuvidDestroyDecoder");
	auto *d = (Decoder *)handle;
	if (!in_context(d, "cuvidDestroyDecoder")) return CUDA_ERROR_INVALID_CONTEXT;
	if (d->is_mapped) vf_report_leak(d->context, "nvcuvid: a decoder ends with a picture mapped");
	cuMemFree(d->memory);
	delete d;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuvidDecodePicture(CUvideodecoder handle, CUVIDPICPARAMS *p) {
	auto guard = enter("cuvidDecodePicture");
	auto *d = (Decoder *)handle;
	if (!in_context(d, "cuvidDecodePicture")) return CUDA_ERROR_INVALID_CONTEXT;
	if (p->CurrPicIdx < 0 || (size_t)p->CurrPicIdx >= d->surfaces.size()) {
		complain("surface %d of %zu", p->CurrPicIdx, d->surfaces.size());
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (!p->nBitstreamDataLen || !p->pBitstreamData || !p->nNumSlices) complain("a picture without data");
	for (unsigned i = 0; i < p->nNumSlices; i++)
		if (p->pSliceDataOffsets[i] >= p->nBitstreamDataLen) complain("slice %u begins behind the data", i);
	if (faulty() && ++decoded == config().decode) return CUDA_ERROR_UNKNOWN;
	if (d->next < 0 && config().again) d->next = 0;
	Surface &s = d->surfaces[(size_t)p->CurrPicIdx];
	s = {true, -1};
	if (!config().starts.empty()) {
		auto start = config().starts.find(hash_of(p->pBitstreamData, p->nBitstreamDataLen));
		if (start != config().starts.end()) d->next = d->next < 0 ? start->second : d->next, s.start = start->second;
		else if (d->next < 0) return complain("a decoder begins at a picture that is no start"), CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

EXPORT CUresult cuvidMapVideoFrame64(CUvideodecoder handle, int index, unsigned long long *address, unsigned int *pitch, CUVIDPROCPARAMS *vpp) {
	auto guard = enter("cuvidMapVideoFrame");
	auto *d = (Decoder *)handle;
	if (!in_context(d, "cuvidMapVideoFrame")) return CUDA_ERROR_INVALID_CONTEXT;
	if (index < 0 || (size_t)index >= d->surfaces.size() || !d->surfaces[(size_t)index].decoded) {
		complain("surface %d is mapped, which was not decoded", index);
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (d->is_mapped) return CUDA_ERROR_OUT_OF_MEMORY; // there is one output surface
	long n = faulty() ? ++mapped : 0;
	if (n && n == config().map) return CUDA_ERROR_UNKNOWN;
	if (long start = d->surfaces[(size_t)index].start; start >= 0) d->next = start;
	std::vector<uint8_t> picture;
	if (!read_picture(*d, d->next < 0 ? config().first + n - 1 : d->next++, picture)) return CUDA_ERROR_INVALID_VALUE;
	if (CUresult err = cuMemcpyHtoDAsync(d->memory, picture.data(), picture.size(), vpp->output_stream)) return err;
	d->is_mapped = true;
	d->last = index;
	d->bad = n && n == config().corrupt;
	*address = d->memory;
	*pitch = (unsigned)d->pitch;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuvidUnmapVideoFrame64(CUvideodecoder handle, unsigned long long address) {
	auto guard = enter("cuvidUnmapVideoFrame");
	auto *d = (Decoder *)handle;
	if (!in_context(d, "cuvidUnmapVideoFrame")) return CUDA_ERROR_INVALID_CONTEXT;
	if (!d->is_mapped || address != d->memory) complain("a picture is unmapped that is not mapped");
	d->is_mapped = false;
	return CUDA_SUCCESS;
}

EXPORT CUresult cuvidGetDecodeStatus(CUvideodecoder handle, int index, CUVIDGETDECODESTATUS *status) {
	std::lock_guard<std::mutex> guard(lock);
	auto *d = (Decoder *)handle;
	bool tells = d->info.CodecType == cudaVideoCodec_H264 || d->info.CodecType == cudaVideoCodec_HEVC || d->info.CodecType == cudaVideoCodec_JPEG;
	if (!tells) return CUDA_ERROR_NOT_SUPPORTED;
	if (index != d->last) complain("the status of surface %d is asked for after %d", index, d->last);
	status->decodeStatus = d->bad ? cuvidDecodeStatus_Error_Concealed : cuvidDecodeStatus_Success;
	return CUDA_SUCCESS;
}

// FFmpeg looks for these and does not call them.
#define UNUSED(name) \
	EXPORT CUresult name(void) { return CUDA_ERROR_NOT_SUPPORTED; }
UNUSED(cuvidReconfigureDecoder)
UNUSED(cuvidCtxLockCreate)
UNUSED(cuvidCtxLockDestroy)
UNUSED(cuvidCtxLock)
UNUSED(cuvidCtxUnlock)
UNUSED(cuvidCreateVideoSource)
UNUSED(cuvidCreateVideoSourceW)
UNUSED(cuvidDestroyVideoSource)
UNUSED(cuvidSetVideoSourceState)
UNUSED(cuvidGetVideoSourceState)
UNUSED(cuvidGetSourceVideoFormat)
UNUSED(cuvidGetSourceAudioFormat)
UNUSED(cuvidCreateVideoParser)
UNUSED(cuvidParseVideoData)
UNUSED(cuvidDestroyVideoParser)
