# `make help` lists the targets. Everything that is missing on a fresh Debian 12 or 13 is installed or
# built by the target that needs it.
.DEFAULT_GOAL := build
SHELL := /bin/sh
.PHONY: build demo test test-race test-soak test-gpu lab ptx lint fmt bench samples install uninstall clean distclean env help setup setup-test

PREFIX ?= /usr/local
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
GOFILES := $(shell git ls-files -co --exclude-standard '*.go' 2>/dev/null)

# Recipes run in the same environment that `make env` prints, so a shell and make agree.
RUN = eval "$$(scripts/env.sh)" &&

build: setup ## build bin/vidfilter (FFmpeg is built once, into a cache)
	@$(RUN) go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o bin/vidfilter ./cmd/vidfilter
	@echo "built bin/vidfilter"

demo: build ## filter a sample and say where the result is
	@scripts/demo.sh

# In livetest a browser, the program and its encoders share the cores, and what is measured is delay: these tests run by themselves.
gotest = $(RUN) go test $(1) $$(go list ./... | grep -v /livetest) && go test $(1) ./internal/livetest

test: build setup-test ## every test that this machine can run
	@$(call gotest,)

test-race: build setup-test ## the tests of what runs concurrently, under the race detector
	@$(call gotest,-race -short)

test-soak: build setup-test ## ten minutes of live pictures in a browser: memory and latency stay what they are
	@$(RUN) VIDFILTER_SOAK=10m go test -count=1 -v -timeout 20m -run TestSoak ./internal/livetest

test-gpu: build ## on a machine with an NVIDIA GPU: conformance, compute-sanitizer, bench
	@$(RUN) go test -c -o bin/gpu.test ./gpu
	@scripts/test-gpu.sh

lab: build ## the papers' experiments on this machine, on its GPU where there is one; kept in docs/measurements
	@scripts/lab.sh

ptx: setup-test ## compile the CUDA kernels again
	@$(RUN) go run ./kernels/mkptx

lint: setup-test ## gofmt, go vet, staticcheck, shellcheck, and whether the PTX is its sources'
	@test -z "$$(gofmt -l $(GOFILES))" || { echo "not gofmt-ed:"; gofmt -l $(GOFILES); exit 1; }
	@$(RUN) go vet ./... && go tool staticcheck ./... && go run ./kernels/mkptx -check
	@shellcheck scripts/*.sh samples/*.sh gpu/libcuda/*.sh .ci/run

fmt: ## format the Go sources
	@gofmt -w $(GOFILES)

bench: build ## time the CPU filter beside OpenCV and FFmpeg's bilateral
	@scripts/setup.sh build bench
	@$(RUN) go run ./kernels/bench

samples: build setup-test ## check the sample clips, and make 4k.mp4 and 8k.mp4 for benchmarks
	@$(RUN) go test -count=1 ./samples/... && samples/make.sh bench

# sudo only where the folder needs it, and never for the build: root has another cache.
SUDO = $$(mkdir -p "$(DEST)" 2>/dev/null; [ -w "$(DEST)" ] || echo sudo)
DEST = $(DESTDIR)$(PREFIX)
COMPLETIONS = $(DEST)/share/bash-completion/completions/vidfilter \
	$(DEST)/share/zsh/site-functions/_vidfilter $(DEST)/share/fish/vendor_completions.d/vidfilter.fish

install: build ## install the program and its completions below PREFIX (/usr/local)
	@sudo=$(SUDO); $$sudo install -D -m 755 bin/vidfilter "$(DEST)/bin/vidfilter"; \
	set -- bash zsh fish; for f in $(COMPLETIONS); do \
		bin/vidfilter completion $$1 | $$sudo install -D -m 644 /dev/stdin "$$f" || exit 1; shift; done
	@echo "installed $(DEST)/bin/vidfilter"

uninstall: ## remove what install put there
	@sudo=$(SUDO); $$sudo rm -f "$(DEST)/bin/vidfilter" $(COMPLETIONS)

clean: ## remove what was built in the tree
	rm -rf bin demo samples/4k.mp4 samples/8k.mp4

distclean: clean ## remove the cached FFmpeg build too
	rm -rf "$$(scripts/ffmpeg.sh --cache)"

env: ## print the environment for plain go commands: eval "$$(make env)"
	@scripts/setup.sh build >&2 && scripts/ffmpeg.sh >/dev/null && scripts/env.sh

setup:
	@scripts/setup.sh build
	@scripts/ffmpeg.sh >/dev/null && scripts/libcuda.sh >/dev/null
setup-test:
	@scripts/setup.sh build test

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / { gsub(/\$$\$$/, "$$", $$2); printf "  make %-10s %s\n", $$1, $$2 }' Makefile
