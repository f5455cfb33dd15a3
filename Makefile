# `make help` lists the targets. Each target installs or builds what it lacks on a fresh Debian 12 or 13.
.DEFAULT_GOAL := build
SHELL := /bin/sh
.PHONY: $(shell sed -n 's/^\([a-z0-9-]*\):\( .*\)*$$/\1/p' $(MAKEFILE_LIST))

PREFIX ?= /usr/local
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
GOFILES := $(shell git ls-files -co --exclude-standard '*.go' 2>/dev/null)

# Recipes run in the environment that `make env` prints.
RUN = eval "$$(scripts/env.sh)" &&

build: setup ## build bin/vidfilter (FFmpeg is built once, into a cache)
	@$(RUN) go build -ldflags "-s -w -X vidfilter/internal/cli.version=$(VERSION)" -o bin/vidfilter ./cmd/vidfilter
	@echo "built bin/vidfilter"

lib: ## build bin/lib: the library for C, plugins for frei0r and VapourSynth (docs/library.md)
	@scripts/setup.sh build lib && scripts/lib.sh bin/lib "$(VERSION)"
	@echo "built bin/lib"

demo: build ## filter a sample and say where the result is
	@scripts/demo.sh

# Concurrent code is tested under the race detector only; of TWICE, what -short leaves, and all without the detector.
# Jobs of cmd run encode, and sessions of live run kernels and live/preview, whose goroutines only compute. Tests from
# outside run a program built without the detector. Those of live measure delay while browser, program and encoders share
# the cores: they run alone.
RACE = ./batch/... ./decode/... ./internal/site ./pipeline $$(go list ./live/... | grep -v /preview)
TWICE = ./cmd/... ./gpu
ALONE = ./internal/e2e/live
# Debug information would take a third of the time of linking.
GOTEST = go test -vet=off -ldflags=-w -timeout 30m -p $$(nproc) $(TESTFLAGS)

test test-race test-rest test-arm64: export VIDFILTER_TEST_COMPLETE = 1
test: build setup-test ## every test, concurrent code under the race detector
	@$(MAKE) --no-print-directory -j2 test-race test-rest # side by side, since many tests wait
	@$(RUN) $(GOTEST) $(ALONE)
test-race:
	@$(RUN) $(GOTEST) -race -short $(TWICE) && $(GOTEST) -race $(RACE) && $(ARM64)
test-rest:
	@$(RUN) $(GOTEST) $$(go list ./... | grep -vxF "$$(go list $(RACE) $(ALONE))")

# The filters' C code, compiled for ARM64, against the Go references. qemu is slow, so only small tests run. They need no
# libraries, so CGO_CFLAGS and CGO_LDFLAGS lack the folders of those for this machine.
ARM64 = GOARCH=arm64 CC=aarch64-linux-gnu-gcc CGO_CFLAGS=-O2 CGO_LDFLAGS=-O2 $(GOTEST) \
	-short -exec 'qemu-aarch64 -L /usr/aarch64-linux-gnu' -run '$(SMALL)' ./denoise/cpu ./denoise/noise ./interlace/cpu ./kernels ./repair
SMALL = ^TestFast$$|TestEndsOfClips|TestTinyPictures|TestForms|TestConform|TestExtremeSigmas|TestReference/(.*_(17x3|2x5|1x2)|gray_65x33)
test-arm64: setup setup-test ## the C code of the filters, for ARM64, under qemu
	@$(RUN) $(ARM64)

SOAK ?= 1h
test-soak: build setup-test ## an hour of live pictures, then of a batch: nothing may grow (SOAK=10m is shorter)
	@$(RUN) VIDFILTER_SOAK=$(SOAK) go test -count=1 -v -timeout 3h -p 1 -run TestSoak ./internal/e2e/live ./internal/e2e/batch

ROUNDS ?= 3
latency: build setup-test ## live's delay to Chromium's screen by a clock in the picture, beside go2rtc if it is installed
	@$(RUN) VIDFILTER_CLOCK=$(ROUNDS) go test -count=1 -v -timeout 2h -run TestClock ./internal/e2e/live

TRIES ?= 10000
test-damage: build setup-test ## 10,000 damaged files: none may crash the program, hang it, or lose frames in silence
	@$(RUN) VIDFILTER_DAMAGE=$(TRIES) go test -count=1 -v -timeout 60m -run TestRandomDamage ./internal/e2e/media

test-asan: export VIDFILTER_SANITIZE = 1
test-asan: setup setup-test ## the same, with FFmpeg and all C code under the address and undefined-behaviour sanitizers
	@$(RUN) VIDFILTER_DAMAGE=$(TRIES) go test -count=1 -v -timeout 6h -run TestRandomDamage ./internal/e2e/media

test-chaos: ROUNDS = 200
test-chaos: build setup-test ## 200 rounds of kills, freezes, cuts, full disks and wrong clocks over a fleet (ROUNDS=20 is shorter)
	@$(RUN) VIDFILTER_CHAOS=$(ROUNDS) go test -count=1 -v -timeout 12h -run 'TestChaos$$' ./internal/e2e/fleet

test-faults: build setup-test ## each CUDA call, and each call that changes a file, fails once (half an hour)
	@$(RUN) VIDFILTER_FAULTS=1 go test -count=1 -v -timeout 120m -run 'TestEachCall|TestOneFile|TestBatch' ./gpu ./internal/e2e/faults

PAIRS ?= 20
sandbox-cost: build setup-test ## time the sandbox: jobs with it and without, in turns
	@$(RUN) VIDFILTER_COST=$(PAIRS) go test -count=1 -v -timeout 1h -run TestSandboxCost ./internal/e2e/media

FUZZ ?= 1h
test-fuzz: build setup-test ## each fuzz target for an hour (FUZZ=5m is shorter)
	@$(RUN) scripts/fuzz.sh build && scripts/fuzz.sh $(FUZZ)

test-gpu: build ## on a machine with an NVIDIA GPU: conformance, compute-sanitizer, bench
	@$(RUN) go test -c -o bin/gpu.test ./gpu && go test -c -o bin/papers.test ./lab/papers && go test -c -o bin/job.test ./internal/app/job
	@VIDFILTER_TEST_CLIPS=$(CURDIR)/bin/clips bin/job.test -test.run TestDeviceClips
	@scripts/test-gpu.sh

lab: build ## run the papers' experiments here and keep the report in docs/measurements
	@scripts/setup.sh lab
	@scripts/lab.sh

quality: build ## measure the denoiser on CLIPS or drawn clips, beside ffmpeg's filters if that program is installed
	@bin/vidfilter lab --quality $(CLIPS)

# What the same compiler made of the same text comes from the cache.
MKPTX = go run ./kernels/mkptx -cache "$$(scripts/ffmpeg.sh --cache)/ptx"

ptx: setup-test ## compile the CUDA kernels again
	@$(RUN) $(MKPTX)

licenses: setup ## write internal/licenses/licenses.txt again
	@$(RUN) go run ./internal/licenses/gather

lint: setup-test ## gofmt, go vet, staticcheck, shellcheck; compare PTX and licences with their sources
	@test -z "$$(gofmt -l $(GOFILES))" || { echo "not gofmt-ed:"; gofmt -l $(GOFILES); exit 1; }
	@$(RUN) go vet ./... && go tool staticcheck ./... && $(MKPTX) -check && go run ./internal/licenses/gather -check
	@shellcheck scripts/*.sh samples/*.sh gpu/libcuda/*.sh .ci/run

fmt: ## format the Go sources
	@gofmt -w $(GOFILES)

bench: build ## time the CPU filter beside OpenCV and FFmpeg's bilateral
	@scripts/setup.sh build bench
	@$(RUN) scripts/rivals.py

samples: build setup-test ## check the sample clips, and make 4k.mp4 and 8k.mp4 for benchmarks
	@$(RUN) go test -count=1 ./samples/... && samples/make.sh bench

install: build lib ## install program, library, completions, manual, units and documents below PREFIX (/usr/local)
	@scripts/package.sh install bin/vidfilter bin/lib "$(PREFIX)" "$(DESTDIR)"

uninstall: ## remove the files of install
	@scripts/package.sh uninstall "$(PREFIX)" "$(DESTDIR)"

deb: build lib ## pack a Debian package into bin, for this release of Debian and newer ones
	@rm -f bin/vidfilter_*.deb && scripts/package.sh deb bin/vidfilter bin/lib bin

dist: build lib ## pack an archive for any Linux with glibc into bin
	@rm -f bin/vidfilter-*.tar.xz && scripts/package.sh dist bin/vidfilter bin/lib bin

BASE ?= debian:12-slim
IMAGE ?= vidfilter
BUILDER ?= $(firstword $(foreach p,podman docker buildah,$(shell command -v $(p))) podman)
image: deb ## build a container image IMAGE on BASE (debian:12-slim), with BUILDER (podman, docker or buildah)
	@$(BUILDER) build -f deploy/Containerfile --build-arg "BASE=$(BASE)" -t "$(IMAGE)" bin

clean: ## remove the files built in the tree
	rm -rf bin demo samples/4k.mp4 samples/8k.mp4

distclean: clean ## remove the cached builds too
	rm -rf "$$(scripts/ffmpeg.sh --cache)"

env: ## print the environment for plain go commands: eval "$$(make env)"
	@scripts/setup.sh build >&2 && scripts/ffmpeg.sh >/dev/null && scripts/env.sh

# While FFmpeg is built, packages that do without it are compiled on the cores that it leaves idle; the others fail.
setup:
	@scripts/setup.sh build
	@[ -f "$$(scripts/ffmpeg.sh --path)/done" ] || { $(RUN) nice go build -o /dev/null ./cmd/vidfilter; } >/dev/null 2>&1 & \
	scripts/ffmpeg.sh >/dev/null && scripts/libcuda.sh >/dev/null && wait
setup-test: ## install the programs that tests need
	@scripts/setup.sh build lib test

help: ## list the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## / { gsub(/\$$\$$/, "$$", $$2); printf "  make %-10s %s\n", $$1, $$2 }' Makefile
