// Modules are loaded from the programs' PTX, which determines their kernels and devices. The code
// that runs is the same source compiled for the CPU: kernels/NAME.so beside the driver.
#include "module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "config.h"

namespace {

Handles<Module, CUmodule, 0x54> modules;
Handles<Function, CUfunction, 0x55> functions;

// The newest PTX version that a driver reads, by its CUDA version.
int newest_ptx(long driver) {
	static const struct {
		long driver;
		int ptx;
	} table[] = {{9000, 60}, {9010, 61}, {9020, 62}, {10000, 63}, {10010, 64}, {10020, 65}};
	// 11.2 reads 7.2.
	if (driver >= 11000) return (int)(driver / 1000 - 4) * 10 + (int)(driver % 1000 / 10);
	int newest = 50;
	for (auto &row : table)
		if (driver >= row.driver) newest = row.ptx;
	return newest;
}

CUresult accepts(const Device &device, const Ptx &ptx) {
	if (ptx.version > newest_ptx(config().version)) return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
	bool runs = ptx.specific ? ptx.compute == device.compute : ptx.compute <= device.compute;
	return runs ? CUDA_SUCCESS : CUDA_ERROR_NO_BINARY_FOR_GPU;
}

const vf_kernel *load_kernel(const std::string &name) {
	Dl_info self;
	dladdr((void *)load_kernel, &self);
	std::string folder(self.dli_fname, (size_t)(strrchr(self.dli_fname, '/') - self.dli_fname));
	void *library = dlopen((folder + "/kernels/" + name + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
	auto *kernel = library ? (const vf_kernel *)dlsym(library, (name + "_kernel").c_str()) : nullptr;
	if (!kernel) complain("%s", dlerror());
	return kernel;
}

const Entry *find_entry(const Module &module, const char *name) {
	for (const Entry &e : module.ptx.entries)
		if (e.name == name) return &e;
	return nullptr;
}

CUresult open_function(Module &module, const Entry &entry, CUfunction *handle) {
	const vf_kernel *kernel = load_kernel(entry.name);
	if (!kernel) return CUDA_ERROR_NOT_FOUND;
	if (entry.params.size() != 1 || entry.params[0] != kernel->args_size) {
		complain("kernel %s: its PTX is not of the source that was compiled for the CPU", entry.name.c_str());
		return CUDA_ERROR_NOT_FOUND;
	}
	auto *f = new Function{&module, entry, nullptr, kernel, 48 << 10};
	*handle = f->handle = functions.add(f);
	module.functions.push_back(f);
	return CUDA_SUCCESS;
}

void close_module(CUmodule handle, Module &module) {
	for (Function *f : module.functions) {
		functions.remove(f->handle);
		delete f;
	}
	modules.remove(handle);
	delete &module;
}

} // namespace

Function *find_function(CUfunction handle) { return functions.find(handle); }

size_t largest_shared(const Device &device) {
	static const struct {
		int compute;
		size_t kilobytes;
	} table[] = {{70, 96}, {75, 64}, {80, 163}, {86, 99}, {87, 163}, {89, 99}, {90, 227}, {120, 99}};
	size_t largest = 48;
	for (auto &row : table)
		if (device.compute >= row.compute) largest = row.kilobytes;
	return largest << 10;
}

void free_modules(Context &context) {
	modules.each([&](CUmodule handle, Module &m) {
		if (m.context != &context) return;
		report_leak(context, "leak: a module");
		close_module(handle, m);
	});
}

CUresult cuModuleLoadData(CUmodule *handle, const void *image) {
	return in_context("cuModuleLoadData", [&](Context &context) -> CUresult {
		Ptx ptx;
		if (!parse_ptx((const char *)image, ptx)) return ptx.version ? CUDA_ERROR_INVALID_PTX : CUDA_ERROR_INVALID_IMAGE;
		if (CUresult no = accepts(*context.device, ptx)) return no;
		*handle = modules.add(new Module{&context, ptx, {}});
		return CUDA_SUCCESS;
	});
}

CUresult cuModuleLoadDataEx(CUmodule *handle, const void *image, unsigned int, CUjit_option *, void **) {
	return cuModuleLoadData(handle, image);
}

CUresult cuModuleUnload(CUmodule handle) {
	return in_context("cuModuleUnload", [&](Context &) {
		Module *m = modules.find(handle);
		if (!m) return CUDA_ERROR_INVALID_HANDLE;
		close_module(handle, *m);
		return CUDA_SUCCESS;
	});
}

CUresult cuModuleGetFunction(CUfunction *handle, CUmodule module, const char *name) {
	return in_context("cuModuleGetFunction", [&](Context &) -> CUresult {
		note(" kernel=%s", name);
		Module *m = modules.find(module);
		if (!m) return CUDA_ERROR_INVALID_HANDLE;
		for (Function *f : m->functions)
			if (f->entry.name == name) return *handle = f->handle, CUDA_SUCCESS;
		const Entry *entry = find_entry(*m, name);
		return entry ? open_function(*m, *entry, handle) : CUDA_ERROR_NOT_FOUND;
	});
}
