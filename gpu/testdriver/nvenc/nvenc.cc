// A libnvidia-encode for tests, beside the test driver's libcuda. Sessions code with x264, x265 and
// SVT-AV1, by a libavcodec of their own, from the device's memory. It checks that its user follows
// the API, and complains as the test driver does. Options are in VIDFILTER_TESTENCODER;
// testdriver.go lists them.
#include <cuda.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavutil/log.h>
#include <libavutil/opt.h>
}

#define EXPORT extern "C" __attribute__((visibility("default")))
#include <ffnvcodec/nvEncodeAPI.h>

#include "inside.h"

// The codecs' static libraries are for programs: they expect this one in the same file.
asm(".pushsection .bss\n.balign 8\n.globl stderr\n.hidden stderr\n.type stderr, @object\n.size stderr, 8\nstderr: .zero 8\n.popsection");

namespace {

const bool stderr_is_open = (stderr = fdopen(2, "w"), setvbuf(stderr, nullptr, _IONBF, 0), true);

void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
void complain(const char *format, ...) {
	char text[1000];
	va_list list;
	va_start(list, format);
	vsnprintf(text, sizeof text, format, list);
	va_end(list);
	fprintf(stderr, "vidfilter test driver: nvenc: %s\n", text);
}

struct Config {
	std::string text, log, hang, settings;
	long call = 0, sessions = -1, opens = -1, none = 0, version = 121, av1 = 1, deep = 1, full = 1, side = 8192, lossless = 1, lookahead = 1, temporal = 1, device = -1;
	explicit Config(const std::string &t) : text(t) {
		char *copy = strdup(t.c_str()), *rest;
		for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(nullptr, ",", &rest)) {
			char *value = strchr(word, '=');
			if (value) *value++ = 0;
			const struct {
				const char *name;
				long *to;
			} numbers[] = {{"call", &call}, {"sessions", &sessions}, {"opens", &opens}, {"none", &none}, {"version", &version},
			               {"av1", &av1},   {"deep", &deep},         {"full", &full},   {"side", &side},
			               {"lossless", &lossless}, {"lookahead", &lookahead}, {"temporal", &temporal}, {"device", &device}};
			bool known = false;
			for (auto &n : numbers)
				if (value && !strcmp(word, n.name)) known = true, *n.to = atol(value);
			if (value && !strcmp(word, "log")) known = true, log = value;
			if (value && !strcmp(word, "hang")) known = true, hang = value;
			if (value && !strcmp(word, "settings")) known = true, settings = value;
			if (!known) complain("unknown option %s", word);
		}
		free(copy);
	}
};

std::mutex lock; // taken before the driver's
long calls, opened;
bool refused_to_free; // by the option call: the rest is not the user's leak

// config returns the options. A process may change them, from which on calls count anew.
Config &config() {
	static Config c("");
	const char *text = getenv("VIDFILTER_TESTENCODER");
	if (c.text != (text ? text : "")) {
		c = Config(text);
		calls = opened = 0;
	}
	return c;
}

// Appends a line to a file, unless its name is empty.
void write_line(const std::string &name, std::string line) {
	if (name.empty()) return;
	int file = open(name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	line += "\n";
	if (write(file, line.data(), line.size()) < 0) abort();
	close(file);
}

// refused counts a call, and returns whether it fails without doing anything.
bool refused(const char *name) {
	const Config &c = config();
	write_line(c.log, name);
	while (c.hang == name) pause();
	if (++calls != c.call) return false;
	for (const char *frees : {"Destroy", "Unlock", "Unmap", "Unregister"})
		if (strstr(name, frees)) refused_to_free = true;
	return true;
}

// Complains of the user's mistake and returns an error.
NVENCSTATUS wrong(NVENCSTATUS status, const char *what) {
	complain("%s", what);
	return status;
}

struct Resource {
	NV_ENC_REGISTER_RESOURCE about;
	bool mapped = false;
	int used = 0; // by pictures that are not coded
};

struct Bitstream {
	bool busy = false, done = false, locked = false;
	std::vector<uint8_t> data;
	NV_ENC_PIC_TYPE type = NV_ENC_PIC_TYPE_UNKNOWN;
	int64_t picture = 0;
};

struct Picture {
	uint64_t time, duration;
	uint32_t frame;
	Resource *resource;
};

struct Coder {
	AVCodecContext *c = nullptr;
	AVFrame *frame = av_frame_alloc();
	AVPacket *packet = av_packet_alloc();
	~Coder() {
		avcodec_free_context(&c);
		av_frame_free(&frame);
		av_packet_free(&packet);
	}
};

struct Session {
	CUcontext context;
	bool failed = false; // to open: it can only be destroyed
	CUstream in = nullptr;
	NV_ENC_INITIALIZE_PARAMS init = {};
	NV_ENC_CONFIG config = {};
	Coder coder;
	std::map<void *, std::unique_ptr<Resource>> resources;
	std::map<void *, std::unique_ptr<Bitstream>> bitstreams;
	std::deque<Bitstream *> pending; // oldest first, without their packets
	std::map<int64_t, Picture> pictures;
	int64_t fed = 0;
	bool ended = false;
};

std::mutex sessions_lock; // never held while the driver is called
std::map<void *, std::unique_ptr<Session>> sessions;

int sessions_of(CUcontext context) {
	std::lock_guard<std::mutex> guard(sessions_lock);
	int n = 0;
	for (auto &s : sessions) n += s.second->context == context && !s.second->failed; // FFmpeg leaves those
	return refused_to_free ? 0 : n;
}

bool same(const GUID &a, const GUID &b) { return !memcmp(&a, &b, sizeof a); }

bool is_current(const Session &s) { return vf_current() == s.context; }

template <class Body> NVENCSTATUS api(const char *name, Body body) {
	std::lock_guard<std::mutex> guard(lock);
	return refused(name) ? NV_ENC_ERR_GENERIC : body();
}

template <class Body> NVENCSTATUS in_session(const char *name, void *handle, Body body) {
	return api(name, [&]() -> NVENCSTATUS {
		Session *s = nullptr;
		{
			std::lock_guard<std::mutex> guard(sessions_lock);
			auto found = sessions.find(handle);
			if (found != sessions.end() && !found->second->failed) s = found->second.get();
		}
		if (!s) return wrong(NV_ENC_ERR_INVALID_ENCODERDEVICE, name);
		return body(*s);
	});
}

// in_encoder is in_session for calls that need the encoder, and its context to be current.
template <class Body> NVENCSTATUS in_encoder(const char *name, void *handle, Body body) {
	return in_session(name, handle, [&](Session &s) -> NVENCSTATUS {
		if (!s.coder.c) return NV_ENC_ERR_ENCODER_NOT_INITIALIZED;
		if (!is_current(s)) complain("%s without the context", name);
		return body(s);
	});
}

#define VERSIONED(p, version_of)                                                         \
	if (!(p)) return wrong(NV_ENC_ERR_INVALID_PTR, __func__);                              \
	if ((p)->version != (version_of)) return wrong(NV_ENC_ERR_INVALID_VERSION, __func__)

std::vector<GUID> codecs() {
	std::vector<GUID> all = {NV_ENC_CODEC_H264_GUID, NV_ENC_CODEC_HEVC_GUID};
	if (config().av1) all.push_back(NV_ENC_CODEC_AV1_GUID);
	return all;
}

bool known(const GUID &codec) {
	for (auto &c : codecs())
		if (same(c, codec)) return true;
	return false;
}

int cap(const GUID &codec, NV_ENC_CAPS which) {
	bool h264 = same(codec, NV_ENC_CODEC_H264_GUID), hevc = same(codec, NV_ENC_CODEC_HEVC_GUID);
	int side = (int)config().side;
	switch (which) {
	case NV_ENC_CAPS_NUM_MAX_BFRAMES: return 4;
	case NV_ENC_CAPS_SUPPORTED_RATECONTROL_MODES: return 3;
	case NV_ENC_CAPS_SUPPORT_CABAC: return h264;
	case NV_ENC_CAPS_WIDTH_MAX:
	case NV_ENC_CAPS_HEIGHT_MAX: return h264 && side > 4096 ? 4096 : side;
	case NV_ENC_CAPS_WIDTH_MIN: return h264 ? 145 : hevc ? 129 : 192;
	case NV_ENC_CAPS_HEIGHT_MIN: return h264 ? 49 : hevc ? 33 : 128;
	case NV_ENC_CAPS_MB_NUM_MAX: return h264 ? 65536 : 262144;
	case NV_ENC_CAPS_SUPPORT_YUV444_ENCODE: return config().full && (h264 || hevc);
	case NV_ENC_CAPS_SUPPORT_LOSSLESS_ENCODE: return config().lossless && (h264 || hevc);
	case NV_ENC_CAPS_SUPPORT_10BIT_ENCODE: return config().deep && !h264;
	case NV_ENC_CAPS_SUPPORT_LOOKAHEAD: return (int)config().lookahead;
	case NV_ENC_CAPS_SUPPORT_TEMPORAL_AQ: return (int)config().temporal;
	case NV_ENC_CAPS_SUPPORT_WEIGHTED_PREDICTION:
	case NV_ENC_CAPS_SUPPORT_MULTIPLE_REF_FRAMES:
	case NV_ENC_CAPS_SUPPORT_DYN_BITRATE_CHANGE: return 1;
	case NV_ENC_CAPS_SUPPORT_BFRAME_REF_MODE: return 3;
	case NV_ENC_CAPS_NUM_ENCODER_ENGINES: return 2;
	default: return 0;
	}
}

// has_nvenc returns whether a context belongs to the device with NVENC, if only one has it.
bool has_nvenc(CUcontext context) {
	return config().device < 0 || vf_device_of(context) == config().device;
}

NVENCSTATUS NVENCAPI open_session(NV_ENC_OPEN_ENCODE_SESSION_EX_PARAMS *p, void **handle) {
	return api("nvEncOpenEncodeSessionEx", [&]() -> NVENCSTATUS {
		VERSIONED(p, NV_ENC_OPEN_ENCODE_SESSION_EX_PARAMS_VER);
		if (p->apiVersion != NVENCAPI_VERSION) return NV_ENC_ERR_INVALID_VERSION;
		if (p->deviceType != NV_ENC_DEVICE_TYPE_CUDA || !p->device) return wrong(NV_ENC_ERR_INVALID_PARAM, "a session without a context");
		const bool none = config().none || !has_nvenc((CUcontext)p->device);
		std::lock_guard<std::mutex> guard(sessions_lock);
		long open = 0;
		for (auto &other : sessions) open += !other.second->failed;
		auto s = std::make_unique<Session>();
		s->context = (CUcontext)p->device;
		s->failed = none || open == config().sessions || opened == config().opens;
		const bool failed = s->failed;
		opened += !failed;
		*handle = s.get();
		sessions[*handle] = std::move(s);
		return !failed ? NV_ENC_SUCCESS : none ? NV_ENC_ERR_UNSUPPORTED_DEVICE : NV_ENC_ERR_OUT_OF_MEMORY;
	});
}

NVENCSTATUS NVENCAPI guid_count(void *handle, uint32_t *count) {
	return in_session("nvEncGetEncodeGUIDCount", handle, [&](Session &) {
		*count = (uint32_t)codecs().size();
		return NV_ENC_SUCCESS;
	});
}

NVENCSTATUS NVENCAPI guids(void *handle, GUID *to, uint32_t room, uint32_t *count) {
	return in_session("nvEncGetEncodeGUIDs", handle, [&](Session &) {
		*count = 0;
		for (auto &c : codecs())
			if (*count < room) to[(*count)++] = c;
		return NV_ENC_SUCCESS;
	});
}

NVENCSTATUS NVENCAPI caps(void *handle, GUID codec, NV_ENC_CAPS_PARAM *p, int *value) {
	return in_session("nvEncGetEncodeCaps", handle, [&](Session &) -> NVENCSTATUS {
		VERSIONED(p, NV_ENC_CAPS_PARAM_VER);
		if (!known(codec)) return wrong(NV_ENC_ERR_INVALID_PARAM, "caps of an unknown codec");
		*value = cap(codec, p->capsToQuery);
		return NV_ENC_SUCCESS;
	});
}

NVENCSTATUS NVENCAPI preset_config(void *handle, GUID codec, GUID preset, NV_ENC_TUNING_INFO tuning, NV_ENC_PRESET_CONFIG *p) {
	return in_session("nvEncGetEncodePresetConfigEx", handle, [&](Session &) -> NVENCSTATUS {
		VERSIONED(p, NV_ENC_PRESET_CONFIG_VER);
		if (p->presetCfg.version != NV_ENC_CONFIG_VER) return wrong(NV_ENC_ERR_INVALID_VERSION, "the version of a preset's settings");
		if (!known(codec)) return NV_ENC_ERR_UNSUPPORTED_PARAM;
		bool fast = same(preset, NV_ENC_PRESET_P1_GUID) || (same(preset, NV_ENC_PRESET_P2_GUID) && !same(codec, NV_ENC_CODEC_HEVC_GUID));
		bool late = tuning == NV_ENC_TUNING_INFO_HIGH_QUALITY || tuning == NV_ENC_TUNING_INFO_LOSSLESS;
		p->presetCfg.gopLength = NVENC_INFINITE_GOPLENGTH;
		p->presetCfg.frameIntervalP = late && !fast ? 4 : 1;
		p->presetCfg.rcParams.rateControlMode = NV_ENC_PARAMS_RC_VBR;
		p->presetCfg.rcParams.averageBitRate = p->presetCfg.rcParams.maxBitRate = 10000000;
		return NV_ENC_SUCCESS;
	});
}

// The coder's options for a session's settings.
void set_rates(AVCodecContext *c, const Session &s, bool lossless) {
	auto &rc = s.config.rcParams;
	double quality = rc.targetQuality + rc.targetQualityLSB / 256.;
	const char *parameters = c->codec_id == AV_CODEC_ID_HEVC ? "x265-params" : "x264-params";
	if (lossless && c->codec_id == AV_CODEC_ID_HEVC)
		av_opt_set(c->priv_data, parameters, "lossless=1", 0);
	else if (lossless || rc.rateControlMode == NV_ENC_PARAMS_RC_CONSTQP)
		av_opt_set_double(c->priv_data, "qp", rc.constQP.qpInterP, 0);
	else if (quality > 0)
		av_opt_set_double(c->priv_data, "crf", quality, 0);
	else
		c->bit_rate = rc.averageBitRate;
}

void set_colours(AVCodecContext *c, const NV_ENC_CONFIG_H264_VUI_PARAMETERS &vui) {
	if (vui.videoSignalTypePresentFlag) c->color_range = vui.videoFullRangeFlag ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
	if (vui.colourDescriptionPresentFlag) {
		c->color_primaries = (AVColorPrimaries)vui.colourPrimaries;
		c->color_trc = (AVColorTransferCharacteristic)vui.transferCharacteristics;
		c->colorspace = (AVColorSpace)vui.colourMatrix;
	}
	if (vui.chromaSampleLocationFlag) c->chroma_sample_location = (AVChromaLocation)(vui.chromaSampleLocationTop + 1);
}

bool open_coder(Session &s) {
	auto &init = s.init;
	const bool h264 = same(init.encodeGUID, NV_ENC_CODEC_H264_GUID), hevc = same(init.encodeGUID, NV_ENC_CODEC_HEVC_GUID);
	auto &specific = s.config.encodeCodecConfig;
	const uint32_t chroma = h264 ? specific.h264Config.chromaFormatIDC : hevc ? specific.hevcConfig.chromaFormatIDC : specific.av1Config.chromaFormatIDC;
	const bool deep = h264 ? false : (hevc ? specific.hevcConfig.pixelBitDepthMinus8 : specific.av1Config.pixelBitDepthMinus8) == 2;
	if (!h264 && !hevc && specific.av1Config.inputPixelBitDepthMinus8 != specific.av1Config.pixelBitDepthMinus8) return false;
	if (chroma == 3 && !cap(init.encodeGUID, NV_ENC_CAPS_SUPPORT_YUV444_ENCODE)) return false;
	if (deep && !cap(init.encodeGUID, NV_ENC_CAPS_SUPPORT_10BIT_ENCODE)) return false;
	const AVCodec *codec = avcodec_find_encoder_by_name(h264 ? "libx264" : hevc ? "libx265" : "libsvtav1");
	AVCodecContext *c = avcodec_alloc_context3(codec);
	c->width = (int)init.encodeWidth;
	c->height = (int)init.encodeHeight;
	c->pix_fmt = chroma == 3 ? (deep ? AV_PIX_FMT_YUV444P10LE : AV_PIX_FMT_YUV444P) : deep ? AV_PIX_FMT_YUV420P10LE : AV_PIX_FMT_YUV420P;
	c->time_base = {(int)init.frameRateDen, (int)init.frameRateNum};
	c->framerate = {(int)init.frameRateNum, (int)init.frameRateDen};
	c->thread_count = 1;
	c->gop_size = s.config.gopLength > 1000000 ? 1000000 : (int)s.config.gopLength;
	c->max_b_frames = s.config.frameIntervalP > 0 ? s.config.frameIntervalP - 1 : 0;
	av_reduce(&c->sample_aspect_ratio.num, &c->sample_aspect_ratio.den, (int64_t)init.darWidth * c->height, (int64_t)init.darHeight * c->width, 1 << 16);
	const bool no_headers = h264 ? specific.h264Config.disableSPSPPS : hevc ? specific.hevcConfig.disableSPSPPS : true;
	if (no_headers) c->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
	const bool lossless = init.tuningInfo == NV_ENC_TUNING_INFO_LOSSLESS;
	set_rates(c, s, lossless);
	const std::string lookahead = std::to_string(s.config.rcParams.enableLookahead ? s.config.rcParams.lookaheadDepth : 0);
	if (h264) {
		set_colours(c, specific.h264Config.h264VUIParameters);
		av_opt_set(c->priv_data, "preset", "veryfast", 0);
		av_opt_set(c->priv_data, "x264-params", ("b-adapt=0:sync-lookahead=0:mbtree=0:rc-lookahead=" + lookahead).c_str(), 0);
	} else if (hevc) {
		set_colours(c, specific.hevcConfig.hevcVUIParameters);
		av_opt_set(c->priv_data, "preset", "ultrafast", 0);
		std::string p = "log-level=none:info=0:pools=none:frame-threads=1:b-adapt=0:open-gop=0:rc-lookahead=" + std::to_string(c->max_b_frames ? c->max_b_frames + 1 : 0);
		av_opt_set(c->priv_data, "x265-params", (p + (lossless ? ":lossless=1" : "")).c_str(), 0);
	} else {
		auto &av1 = specific.av1Config;
		c->color_primaries = (AVColorPrimaries)av1.colorPrimaries;
		c->color_trc = (AVColorTransferCharacteristic)av1.transferCharacteristics;
		c->colorspace = (AVColorSpace)av1.matrixCoefficients;
		c->color_range = av1.colorRange ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
		if (av1.chromaSamplePosition) c->chroma_sample_location = av1.chromaSamplePosition == 1 ? AVCHROMA_LOC_LEFT : AVCHROMA_LOC_TOPLEFT;
		if (c->bit_rate) { // SVT-AV1 takes no bit rate without a delay
			c->bit_rate = 0;
			av_opt_set_int(c->priv_data, "crf", 30, 0);
		}
		av_opt_set(c->priv_data, "preset", "9", 0);
		av_opt_set(c->priv_data, "svtav1-params", "lp=1:pred-struct=1", 0);
	}
	s.coder.c = c;
	return avcodec_open2(c, codec, nullptr) >= 0;
}

template <size_t n> const char *name_of(const GUID &guid, const std::pair<GUID, const char *> (&names)[n]) {
	for (auto &name : names)
		if (same(guid, name.first)) return name.second;
	return "auto";
}

// Describes settings in a line, for tests.
std::string describe(const NV_ENC_INITIALIZE_PARAMS &init, const NV_ENC_CONFIG &c) {
	const std::pair<GUID, const char *> presets[] = {
	    {NV_ENC_PRESET_P1_GUID, "p1"}, {NV_ENC_PRESET_P2_GUID, "p2"}, {NV_ENC_PRESET_P3_GUID, "p3"}, {NV_ENC_PRESET_P4_GUID, "p4"},
	    {NV_ENC_PRESET_P5_GUID, "p5"}, {NV_ENC_PRESET_P6_GUID, "p6"}, {NV_ENC_PRESET_P7_GUID, "p7"}};
	const std::pair<GUID, const char *> profiles[] = {
	    {NV_ENC_H264_PROFILE_BASELINE_GUID, "baseline"}, {NV_ENC_H264_PROFILE_MAIN_GUID, "main"}, {NV_ENC_H264_PROFILE_HIGH_GUID, "high"},
	    {NV_ENC_H264_PROFILE_HIGH_444_GUID, "high444"}, {NV_ENC_HEVC_PROFILE_MAIN_GUID, "main"}, {NV_ENC_HEVC_PROFILE_MAIN10_GUID, "main10"},
	    {NV_ENC_HEVC_PROFILE_FREXT_GUID, "rext"}, {NV_ENC_AV1_PROFILE_MAIN_GUID, "main"}};
	const char *tunings[] = {"none", "hq", "ll", "ull", "lossless"};
	const bool hevc = same(init.encodeGUID, NV_ENC_CODEC_HEVC_GUID), av1 = same(init.encodeGUID, NV_ENC_CODEC_AV1_GUID);
	auto &rc = c.rcParams;
	const char *mode = rc.rateControlMode == NV_ENC_PARAMS_RC_VBR ? "vbr" : rc.rateControlMode == NV_ENC_PARAMS_RC_CBR ? "cbr" : "constqp";
	char line[400];
	snprintf(line, sizeof line, "preset=%s tuning=%s rc=%s quality=%g qp=%u average=%u max=%u gop=%u interval=%d look-ahead=%u aq=%u temporal-aq=%u profile=%s tier=%u rate=%u/%u",
	         name_of(init.presetGUID, presets), tunings[init.tuningInfo], mode, rc.targetQuality + rc.targetQualityLSB / 256., rc.constQP.qpInterP,
	         rc.averageBitRate, rc.maxBitRate, c.gopLength, c.frameIntervalP, rc.enableLookahead ? rc.lookaheadDepth : 0u,
	         rc.enableAQ ? rc.aqStrength : 0u, (unsigned)rc.enableTemporalAQ, name_of(c.profileGUID, profiles),
	         hevc ? c.encodeCodecConfig.hevcConfig.tier : av1 ? c.encodeCodecConfig.av1Config.tier : 0u, init.frameRateNum, init.frameRateDen);
	return line;
}

NVENCSTATUS NVENCAPI initialize(void *handle, NV_ENC_INITIALIZE_PARAMS *p) {
	return in_session("nvEncInitializeEncoder", handle, [&](Session &s) -> NVENCSTATUS {
		VERSIONED(p, NV_ENC_INITIALIZE_PARAMS_VER);
		VERSIONED(p->encodeConfig, NV_ENC_CONFIG_VER);
		if (s.coder.c) return wrong(NV_ENC_ERR_INVALID_CALL, "initialized twice");
		if (!is_current(s)) complain("nvEncInitializeEncoder without the context");
		if (!known(p->encodeGUID)) return NV_ENC_ERR_UNSUPPORTED_PARAM;
		for (auto side : {NV_ENC_CAPS_WIDTH_MAX, NV_ENC_CAPS_WIDTH_MIN}) {
			int limit = cap(p->encodeGUID, side);
			if (side == NV_ENC_CAPS_WIDTH_MAX ? (int)p->encodeWidth > limit : (int)p->encodeWidth < limit) return NV_ENC_ERR_INVALID_PARAM;
		}
		if ((p->encodeWidth | p->encodeHeight) & 1) return wrong(NV_ENC_ERR_INVALID_PARAM, "odd sides");
		if (!p->frameRateNum || !p->frameRateDen || !p->enablePTD) return wrong(NV_ENC_ERR_INVALID_PARAM, "no rate, or no decision on types");
		if (p->encodeConfig->rcParams.targetQuality > (same(p->encodeGUID, NV_ENC_CODEC_AV1_GUID) ? 63 : 51)) return wrong(NV_ENC_ERR_INVALID_PARAM, "a quality beyond the codec's");
		if (p->encodeConfig->rcParams.lookaheadDepth > 31) return wrong(NV_ENC_ERR_INVALID_PARAM, "a look-ahead beyond 31");
		if ((int64_t)p->encodeConfig->gopLength <= p->encodeConfig->frameIntervalP) return NV_ENC_ERR_INVALID_PARAM; // as drivers do
		s.init = *p;
		s.config = *p->encodeConfig;
		write_line(config().settings, describe(s.init, s.config));
		if (open_coder(s)) return NV_ENC_SUCCESS;
		avcodec_free_context(&s.coder.c);
		return NV_ENC_ERR_UNSUPPORTED_PARAM;
	});
}

NVENCSTATUS NVENCAPI set_streams(void *handle, NV_ENC_CUSTREAM_PTR in, NV_ENC_CUSTREAM_PTR out) {
	return in_encoder("nvEncSetIOCudaStreams", handle, [&](Session &s) -> NVENCSTATUS {
		if (!in || !out) return wrong(NV_ENC_ERR_INVALID_PTR, "no streams");
		s.in = *(CUstream *)in;
		return NV_ENC_SUCCESS;
	});
}

NVENCSTATUS NVENCAPI create_bitstream(void *handle, NV_ENC_CREATE_BITSTREAM_BUFFER *p) {
	return in_encoder("nvEncCreateBitstreamBuffer", handle, [&](Session &s) -> NVENCSTATUS {
		VERSIONED(p, NV_ENC_CREATE_BITSTREAM_BUFFER_VER);
		auto b = std::make_unique<Bitstream>();
		p->bitstreamBuffer = b.get();
		s.bitstreams[p->bitstreamBuffer] = std::move(b);
		return NV_ENC_SUCCESS;
	});
}

NVENCSTATUS NVENCAPI destroy_bitstream(void *handle, NV_ENC_OUTPUT_PTR which) {
	return in_session("nvEncDestroyBitstreamBuffer", handle, [&](Session &s) -> NVENCSTATUS {
		if (!which) return NV_ENC_ERR_INVALID_PTR;
		auto found = s.bitstreams.find(which);
		if (found == s.bitstreams.end()) return wrong(NV_ENC_ERR_INVALID_PARAM, "an unknown bitstream is destroyed");
		if (found->second->locked && !refused_to_free) complain("a bitstream is destroyed that is locked");
		for (auto &p : s.pending)
			if (p == found->second.get()) p = nullptr;
		s.bitstreams.erase(found);
		return NV_ENC_SUCCESS;
	});
}

int planes_of(NV_ENC_BUFFER_FORMAT f) { return f == NV_ENC_BUFFER_FORMAT_YUV444 || f == NV_ENC_BUFFER_FORMAT_YUV444_10BIT ? 3 : 2; }
int bytes_of(NV_ENC_BUFFER_FORMAT f) { return f == NV_ENC_BUFFER_FORMAT_YUV420_10BIT || f == NV_ENC_BUFFER_FORMAT_YUV444_10BIT ? 2 : 1; }

NVENCSTATUS NVENCAPI register_resource(void *handle, NV_ENC_REGISTER_RESOURCE *p) {
	return in_encoder("nvEncRegisterResource", handle, [&](Session &s) -> NVENCSTATUS {
		VERSIONED(p, NV_ENC_REGISTER_RESOURCE_VER);
		int depth = planes_of(p->bufferFormat) == 3 ? 3 : 2;
		if (p->resourceType != NV_ENC_INPUT_RESOURCE_TYPE_CUDADEVICEPTR || !p->resourceToRegister) return wrong(NV_ENC_ERR_INVALID_PARAM, "a resource that is no memory of the device");
		if (p->pitch % 4 || p->pitch < p->width * (uint32_t)bytes_of(p->bufferFormat)) return wrong(NV_ENC_ERR_INVALID_PARAM, "a resource's pitch");
		if (p->width < s.init.encodeWidth || p->height < s.init.encodeHeight) return wrong(NV_ENC_ERR_INVALID_PARAM, "a resource is too small");
		if ((depth == 3) != (s.coder.c->pix_fmt == AV_PIX_FMT_YUV444P || s.coder.c->pix_fmt == AV_PIX_FMT_YUV444P10LE) ||
		    (bytes_of(p->bufferFormat) == 2) != (s.coder.c->pix_fmt == AV_PIX_FMT_YUV420P10LE || s.coder.c->pix_fmt == AV_PIX_FMT_YUV444P10LE))
			return wrong(NV_ENC_ERR_INVALID_PARAM, "a resource of another format than the encoder's");
		if (s.resources.size() >= 64) return wrong(NV_ENC_ERR_RESOURCE_REGISTER_FAILED, "more than 64 resources");
		auto r = std::make_unique<Resource>();
		r->about = *p;
		p->registeredResource = r.get();
		s.resources[p->registeredResource] = std::move(r);
		return NV_ENC_SUCCESS;
	});
}

NVENCSTATUS NVENCAPI unregister_resource(void *handle, NV_ENC_REGISTERED_PTR which) {
	return in_session("nvEncUnregisterResource", handle, [&](Session &s) -> NVENCSTATUS {
		auto found = s.resources.find(which);
		if (found == s.resources.end()) return wrong(NV_ENC_ERR_RESOURCE_NOT_REGISTERED, "an unknown resource is unregistered");
		if (found->second->mapped && !refused_to_free) complain("a resource is unregistered that is mapped");
		if (!vf_has_memory((CUdeviceptr)found->second->about.resourceToRegister)) complain("a resource is unregistered whose memory is freed");
		s.resources.erase(found);
		return NV_ENC_SUCCESS;
	});
}

// A mapped resource has an address of its own, inside the resource's.
void *mapped_as(Resource *r) { return (char *)r + 1; }
Resource *mapped(Session &s, void *handle) {
	auto found = s.resources.find((char *)handle - 1);
	return found != s.resources.end() && found->second->mapped ? found->second.get() : nullptr;
}

NVENCSTATUS NVENCAPI map_resource(void *handle, NV_ENC_MAP_INPUT_RESOURCE *p) {
	return in_encoder("nvEncMapInputResource", handle, [&](Session &s) -> NVENCSTATUS {
		VERSIONED(p, NV_ENC_MAP_INPUT_RESOURCE_VER);
		auto found = s.resources.find(p->registeredResource);
		if (found == s.resources.end()) return wrong(NV_ENC_ERR_RESOURCE_NOT_REGISTERED, "an unknown resource is mapped");
		Resource *r = found->second.get();
		if (r->mapped) return wrong(NV_ENC_ERR_MAP_FAILED, "a resource is mapped twice");
		r->mapped = true;
		p->mappedResource = mapped_as(r);
		p->mappedBufferFmt = r->about.bufferFormat;
		return NV_ENC_SUCCESS;
	});
}

NVENCSTATUS NVENCAPI unmap_resource(void *handle, NV_ENC_INPUT_PTR which) {
	return in_session("nvEncUnmapInputResource", handle, [&](Session &s) -> NVENCSTATUS {
		Resource *r = mapped(s, which);
		if (!r) return wrong(NV_ENC_ERR_RESOURCE_NOT_MAPPED, "a resource is unmapped that is not mapped");
		if (r->used && !s.ended) complain("a resource is unmapped before its picture is coded");
		r->mapped = false;
		return NV_ENC_SUCCESS;
	});
}

// Copies the picture of a resource from the device, in the session's stream, into the coder's frame.
bool read_picture(Session &s, const Resource &r) {
	auto &a = r.about;
	const int bytes = bytes_of(a.bufferFormat), planes = planes_of(a.bufferFormat);
	const size_t rows = a.height * (planes == 3 ? 3 : 1) + (planes == 3 ? 0 : a.height / 2);
	std::vector<uint8_t> all(a.pitch * (rows - 1) + a.width * (size_t)bytes);
	if (cuMemcpyDtoHAsync(all.data(), (CUdeviceptr)a.resourceToRegister, all.size(), s.in) || cuStreamSynchronize(s.in)) return false;
	AVFrame *f = s.coder.frame;
	av_frame_unref(f);
	f->format = s.coder.c->pix_fmt;
	f->width = s.coder.c->width;
	f->height = s.coder.c->height;
	if (av_frame_get_buffer(f, 0) < 0) return false;
	auto sample = [&](int plane_row, int x) -> unsigned {
		const uint8_t *p = &all[(size_t)plane_row * a.pitch + (size_t)(x * bytes)];
		return bytes == 1 ? *p : (unsigned)(p[0] | p[1] << 8) >> 6;
	};
	for (int i = 0; i < 3; i++) {
		const bool half = i && planes == 2;
		const int w = half ? f->width / 2 : f->width, h = half ? f->height / 2 : f->height;
		const int first = i == 0 ? 0 : planes == 3 ? (int)a.height * i : (int)a.height;
		for (int y = 0; y < h; y++)
			for (int x = 0; x < w; x++) {
				const unsigned v = sample(first + y, half ? 2 * x + i - 1 : x);
				uint8_t *to = f->data[i] + y * f->linesize[i];
				if (bytes == 1)
					to[x] = (uint8_t)v;
				else
					((uint16_t *)to)[x] = (uint16_t)v;
			}
	}
	return true;
}

NV_ENC_PIC_TYPE type_of(const AVPacket *p) {
	if (p->flags & AV_PKT_FLAG_KEY) return NV_ENC_PIC_TYPE_IDR;
	size_t size = 0;
	const uint8_t *stats = av_packet_get_side_data(p, AV_PKT_DATA_QUALITY_STATS, &size);
	switch (stats && size > 4 ? stats[4] : 0) {
	case AV_PICTURE_TYPE_I: return NV_ENC_PIC_TYPE_I;
	case AV_PICTURE_TYPE_B: return NV_ENC_PIC_TYPE_B;
	default: return NV_ENC_PIC_TYPE_P;
	}
}

// Hands packets to the bitstreams that wait for them; returns how many came.
int take_packets(Session &s) {
	int n = 0;
	while (!s.pending.empty() && avcodec_receive_packet(s.coder.c, s.coder.packet) >= 0) {
		AVPacket *p = s.coder.packet;
		Bitstream *b = s.pending.front();
		s.pending.pop_front();
		s.pictures[p->pts].resource->used--;
		if (b) {
			b->data.assign(p->data, p->data + p->size);
			b->type = type_of(p);
			b->picture = p->pts;
			b->done = true;
		}
		av_packet_unref(p);
		n++;
	}
	return n;
}

NVENCSTATUS NVENCAPI encode(void *handle, NV_ENC_PIC_PARAMS *p) {
	return in_encoder("nvEncEncodePicture", handle, [&](Session &s) -> NVENCSTATUS {
		VERSIONED(p, NV_ENC_PIC_PARAMS_VER);
		if (p->encodePicFlags & NV_ENC_PIC_FLAG_EOS) {
			if (!s.ended) avcodec_send_frame(s.coder.c, nullptr);
			s.ended = true;
			take_packets(s);
			return NV_ENC_SUCCESS;
		}
		if (s.ended) return wrong(NV_ENC_ERR_INVALID_CALL, "a picture after the last one");
		Resource *r = mapped(s, p->inputBuffer);
		if (!r) return wrong(NV_ENC_ERR_RESOURCE_NOT_MAPPED, "a picture that is not mapped");
		if (r->used) complain("a picture is given while it is being coded");
		if (p->inputPitch != r->about.pitch || p->bufferFmt != r->about.bufferFormat) return wrong(NV_ENC_ERR_INVALID_PARAM, "a picture is not as it was registered");
		if (p->pictureStruct != NV_ENC_PIC_STRUCT_FRAME) return wrong(NV_ENC_ERR_UNSUPPORTED_PARAM, "fields");
		auto found = s.bitstreams.find(p->outputBitstream);
		if (found == s.bitstreams.end()) return wrong(NV_ENC_ERR_INVALID_PARAM, "an unknown bitstream");
		Bitstream *b = found->second.get();
		if (b->busy) return wrong(NV_ENC_ERR_INVALID_PARAM, "a bitstream that is in use");
		if (!read_picture(s, *r)) return NV_ENC_ERR_GENERIC;
		*b = Bitstream{};
		b->busy = true;
		s.pictures[s.fed] = Picture{p->inputTimeStamp, p->inputDuration, p->frameIdx, r};
		s.coder.frame->pts = s.fed++;
		r->used++;
		s.pending.push_back(b);
		if (avcodec_send_frame(s.coder.c, s.coder.frame) < 0) return NV_ENC_ERR_GENERIC;
		return take_packets(s) ? NV_ENC_SUCCESS : NV_ENC_ERR_NEED_MORE_INPUT;
	});
}

NVENCSTATUS NVENCAPI lock_bitstream(void *handle, NV_ENC_LOCK_BITSTREAM *p) {
	return in_encoder("nvEncLockBitstream", handle, [&](Session &s) -> NVENCSTATUS {
		VERSIONED(p, NV_ENC_LOCK_BITSTREAM_VER);
		auto found = s.bitstreams.find(p->outputBitstream);
		if (found == s.bitstreams.end()) return wrong(NV_ENC_ERR_INVALID_PARAM, "an unknown bitstream is locked");
		Bitstream *b = found->second.get();
		if (b->locked) return wrong(NV_ENC_ERR_INVALID_CALL, "a bitstream is locked twice");
		if (!b->done) return wrong(NV_ENC_ERR_LOCK_BUSY, "a bitstream is locked that waits for more pictures: this would never end");
		const Picture &picture = s.pictures[b->picture];
		b->locked = true;
		p->bitstreamBufferPtr = b->data.data();
		p->bitstreamSizeInBytes = (uint32_t)b->data.size();
		p->outputTimeStamp = picture.time;
		p->outputDuration = picture.duration;
		p->frameIdx = picture.frame;
		p->pictureType = b->type;
		p->pictureStruct = NV_ENC_PIC_STRUCT_FRAME;
		p->frameAvgQP = 20;
		return NV_ENC_SUCCESS;
	});
}

NVENCSTATUS NVENCAPI unlock_bitstream(void *handle, NV_ENC_OUTPUT_PTR which) {
	return in_encoder("nvEncUnlockBitstream", handle, [&](Session &s) -> NVENCSTATUS {
		auto found = s.bitstreams.find(which);
		if (found == s.bitstreams.end() || !found->second->locked) return wrong(NV_ENC_ERR_INVALID_PARAM, "a bitstream is unlocked that is not locked");
		*found->second = Bitstream{};
		return NV_ENC_SUCCESS;
	});
}

NVENCSTATUS NVENCAPI sequence(void *handle, NV_ENC_SEQUENCE_PARAM_PAYLOAD *p) {
	return in_session("nvEncGetSequenceParams", handle, [&](Session &s) -> NVENCSTATUS { // which FFmpeg calls without the context
		if (!s.coder.c) return NV_ENC_ERR_ENCODER_NOT_INITIALIZED;
		VERSIONED(p, NV_ENC_SEQUENCE_PARAM_PAYLOAD_VER);
		auto size = (uint32_t)s.coder.c->extradata_size;
		if (!size) return wrong(NV_ENC_ERR_INVALID_CALL, "headers that are in the pictures");
		if (size > p->inBufferSize) return NV_ENC_ERR_NOT_ENOUGH_BUFFER;
		memcpy(p->spsppsBuffer, s.coder.c->extradata, size);
		*p->outSPSPPSPayloadSize = size;
		return NV_ENC_SUCCESS;
	});
}

NVENCSTATUS NVENCAPI destroy(void *handle) {
	return api("nvEncDestroyEncoder", [&]() -> NVENCSTATUS {
		std::lock_guard<std::mutex> guard(sessions_lock);
		auto found = sessions.find(handle);
		if (found == sessions.end()) return wrong(NV_ENC_ERR_INVALID_ENCODERDEVICE, "an unknown session is destroyed");
		if (!refused_to_free) {
			for (auto &r : found->second->resources) complain("leak: a resource that is %s", r.second->mapped ? "mapped" : "registered");
			for (auto &b : found->second->bitstreams) complain("leak: a bitstream%s", b.second->locked ? " that is locked" : "");
		}
		sessions.erase(found);
		return NV_ENC_SUCCESS;
	});
}

const char *NVENCAPI last_error(void *) { return "of the test driver"; }

} // namespace

EXPORT NVENCSTATUS NVENCAPI NvEncodeAPIGetMaxSupportedVersion(uint32_t *version) {
	return api("NvEncodeAPIGetMaxSupportedVersion", [&] {
		*version = (uint32_t)(config().version / 10 << 4 | config().version % 10);
		return NV_ENC_SUCCESS;
	});
}

EXPORT NVENCSTATUS NVENCAPI NvEncodeAPICreateInstance(NV_ENCODE_API_FUNCTION_LIST *list) {
	return api("NvEncodeAPICreateInstance", [&]() -> NVENCSTATUS {
		VERSIONED(list, NV_ENCODE_API_FUNCTION_LIST_VER);
		static std::once_flag once;
		std::call_once(once, [] {
			av_log_set_level(AV_LOG_QUIET);
			setenv("SVT_LOG", "0", 0);
			vf_count_sessions(sessions_of);
		});
		list->nvEncOpenEncodeSessionEx = open_session;
		list->nvEncGetEncodeGUIDCount = guid_count;
		list->nvEncGetEncodeGUIDs = guids;
		list->nvEncGetEncodeCaps = caps;
		list->nvEncGetEncodePresetConfigEx = preset_config;
		list->nvEncInitializeEncoder = initialize;
		list->nvEncSetIOCudaStreams = set_streams;
		list->nvEncCreateBitstreamBuffer = create_bitstream;
		list->nvEncDestroyBitstreamBuffer = destroy_bitstream;
		list->nvEncRegisterResource = register_resource;
		list->nvEncUnregisterResource = unregister_resource;
		list->nvEncMapInputResource = map_resource;
		list->nvEncUnmapInputResource = unmap_resource;
		list->nvEncEncodePicture = encode;
		list->nvEncLockBitstream = lock_bitstream;
		list->nvEncUnlockBitstream = unlock_bitstream;
		list->nvEncGetSequenceParams = sequence;
		list->nvEncDestroyEncoder = destroy;
		list->nvEncGetLastErrorString = last_error;
		return NV_ENC_SUCCESS;
	});
}
