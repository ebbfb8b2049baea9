# Every target is one short script in scripts/.
.DEFAULT_GOAL := help
KW_LABELS ?= unit end_to_end capabilities
.PHONY: help demo closed-loop test test-all retest test-gpu build web lint format dist dist-tests wheel image clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1 \t/p' $(MAKEFILE_LIST) | expand -t 14
	@echo
	@echo "A Python of your own: make demo KW_PYTHON=/path/to/python, or an active virtual environment."
	@echo "Some labels of tests only: make test KW_LABELS=\"unit end_to_end\"."

demo: ## install missing packages, build, run the loop with a scripted model, write its report
	@scripts/demo.sh

closed-loop: ## data, training, serving and verdicts in a loop, with a tiny model made for it
	@scripts/closed_loop.sh

test: ## install missing packages, build, run the tests
	@scripts/test.sh $(KW_LABELS)

test-all: test ## make test, then the long tests: programs of others, sanitizers, fuzzers, the page in a browser
	@scripts/test.sh peers sanitizers fuzz browser

retest: ## run the tests again although no file has changed
	@scripts/test.sh --again $(KW_LABELS)

test-gpu: ## the tests that need a GPU
	@scripts/test-gpu.sh

build: ## build all targets into build/
	@scripts/build.sh

web: ## the page of report and view from web/src into web/built
	@scripts/web.sh build

lint: ## formatting and static analysis, as CI runs them
	@scripts/lint.sh

format: ## format C++ and apply the fixes of ruff
	@scripts/lint.sh --fix

dist: ## a portable tarball of the program into dist/
	@scripts/dist.sh

dist-tests: ## the same with the tests and a script that runs them
	@scripts/dist.sh --tests

wheel: ## a wheel with a manylinux tag into dist/
	@scripts/wheel.sh

image: ## an OCI image with program, PyTorch and Triton; IMAGE="--slim" for the CPU alone
	@scripts/image.sh $(IMAGE)

clean: ## remove build/ and dist/; .venv and .venv-peers stay
	@rm -rf build build-debug build-sanitizers dist
