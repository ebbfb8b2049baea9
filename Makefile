# Thin: every target is one short script in scripts/.
.DEFAULT_GOAL := help
.PHONY: help demo test retest test-gpu build lint format dist dist-tests clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1 \t/p' $(MAKEFILE_LIST) | expand -t 14
	@echo
	@echo "A Python of your own: make demo KW_PYTHON=/path/to/python, or an active virtual environment."

demo: ## install what is missing, build, judge the sample
	@scripts/demo.sh

test: ## install what is missing, build, run the tests
	@scripts/test.sh unit engine

retest: ## run the tests again though nothing has changed
	@scripts/test.sh --again unit engine

test-gpu: ## the tests that need a GPU
	@scripts/test-gpu.sh

build: ## everything into build/
	@scripts/build.sh

lint: ## formatting and static analysis, as CI runs them
	@scripts/lint.sh

format: ## format C++ and fix what ruff can fix
	@scripts/lint.sh --fix

dist: ## a portable tarball of the program into dist/
	@scripts/dist.sh

dist-tests: ## the same with the tests and a script that runs them
	@scripts/dist.sh --tests

clean: ## remove build/ and dist/; .venv stays
	@rm -rf build build-debug build-asan dist
