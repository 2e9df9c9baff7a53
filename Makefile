# Thin front: every target is one or two commands that also work on their own (see CONTRIBUTING.md).
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
CMAKE_ARGS ?=
export JOBS FUZZ_SECONDS

.PHONY: build setup test test-slow test-soak test-cuda test-asan test-tsan demo lint format fuzz install clean

build:
	scripts/setup --build-only
	cmake --preset release $(CMAKE_ARGS)
	cmake --build build/release -j $(JOBS) --target cuzk

setup:
	scripts/setup

test:
	scripts/setup --test
	cmake --preset test -DCUZK_WEB_PYTHON=$$(scripts/setup_page_test) $(CMAKE_ARGS)
	cmake --build build/test -j $(JOBS)
	ctest --preset test -j $(JOBS)

test-slow:
	scripts/setup --test
	cmake --preset test $(CMAKE_ARGS)
	cmake --build build/test -j $(JOBS)
	ctest --preset test-slow

test-soak:
	scripts/setup --test
	cmake --preset test $(CMAKE_ARGS)
	cmake --build build/test -j $(JOBS)
	ctest --preset test-soak

# Compiles the CUDA backend and runs what needs no device; where there is one, its tests too.
test-cuda:
	scripts/setup --test
	cmake --preset cuda -DCUZK_NVCC=$$(scripts/setup_cuda) $(CMAKE_ARGS)
	cmake --build build/cuda -j $(JOBS) --target cuzk gpu_tests gpu_sass_probe
	ctest --preset cuda

test-asan:
	cmake --preset asan-ubsan $(CMAKE_ARGS)
	cmake --build build/asan-ubsan -j $(JOBS)
	ctest --preset asan-ubsan -j $(JOBS)

test-tsan:
	cmake --preset tsan $(CMAKE_ARGS)
	cmake --build build/tsan -j $(JOBS)
	ctest --preset tsan -j $(JOBS)

demo: build
	scripts/demo

lint:
	scripts/setup
	scripts/lint

format:
	scripts/lint --fix

fuzz:
	scripts/setup
	scripts/fuzz

install: build
	cmake --install build/release --prefix $(PREFIX)

clean:
	rm -rf build
