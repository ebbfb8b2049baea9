# Thin: every target is one short script in scripts/.
.DEFAULT_GOAL := help
KW_LABELS ?= unit engine peers fuzz
.PHONY: help demo closed-loop test retest test-gpu build lint format dist dist-tests clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1 \t/p' $(MAKEFILE_LIST) | expand -t 14
	@echo
	@echo "A Python of your own: make demo KW_PYTHON=/path/to/python, or an active virtual environment."
	@echo "Some labels of tests only: make test KW_LABELS=\"unit engine\"."

demo: ## install what is missing, build, run the loop with a scripted model
	@scripts/demo.sh

closed-loop: ## data, training, serving, verdicts, and around again, with a model made on the spot
	@scripts/closed_loop.sh

test: ## install what is missing, build, run the tests
	@scripts/test.sh $(KW_LABELS)

retest: ## run the tests again though nothing has changed
	@scripts/test.sh --again $(KW_LABELS)

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

clean: ## remove build/ and dist/; .venv and .venv-peers stay
	@rm -rf build build-debug build-asan dist
