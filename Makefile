# Two commands from nothing: `make chaos` and `make test`. Everything else is `kraft-chaos --help`.
SHELL := /bin/sh
BIN := .venv/bin
# Byte code is kept, whatever the shell says: tests start hundreds of processes.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help chaos test lint unit integration night swarm lies bench soak soak-node soak-found soak-chance fuzz differential bare setup clean

help:
	@echo "make chaos    set up what is missing, split a leader off, judge what happened"
	@echo "make test     set up what is missing, lint, type-check, run the tests"
	@echo "make night    what make test leaves out: every planted bug hunted from seed 1 on, the correct node"
	@echo "              in every such scenario, and cases that repeat others"
	@echo "make swarm    165 seeds of a few seconds in virtual time; nobody may accuse the node"
	@echo "make lies     alter sound runs so that they lie, in some hundred ways; the judge has to see each"
	@echo "make bench    measure the bars; prints a table and writes bench.json"
	@echo "make soak     20 runs of each scenario with different seeds (SOAK='--runs 5' for fewer),"
	@echo "              and 20 of each side of what was found in Apache Kafka (some hours);"
	@echo "              by itself: make soak-node, soak-found, soak-chance"
	@echo "make fuzz     100,000 damaged frames, 10,000 damaged files; 100,000 requests and answers at"
	@echo "              their limits, the last 20,000 by good and bad clients of real processes;"
	@echo "              2,000 histories of others judged against Porcupine, 500 damaged ones"
	@echo "make differential   the same 5,000 requests to Apache Kafka and to our node, answers compared"
	@echo "make bare     the two commands on a machine that has nothing (root; about half an hour)"
	@echo "make clean    remove .venv; clusters and images stay: see kraft-chaos down --help"

.venv/run.stamp: pyproject.toml .ci/constraints.txt .ci/venv
	@.ci/venv run

.venv/test.stamp: pyproject.toml .ci/constraints.txt .ci/venv
	@.ci/venv test

setup: .venv/run.stamp
	@$(BIN)/kraft-chaos setup

# Where no containers can be had, `setup` has said why by then; the exit code is the verdict's.
chaos: .venv/run.stamp
	@if $(BIN)/kraft-chaos setup; then \
		exec $(BIN)/kraft-chaos run partition-leader; \
	else \
		echo "no containers here: the same scenario in virtual time (--runtime sim)"; \
		exec $(BIN)/kraft-chaos run partition-leader --runtime sim; \
	fi

lint: .venv/test.stamp
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/mypy .ci/build_backend.py
	@$(BIN)/lint-imports

# What is compiled beforehand is not waited for in the middle of a test.
.venv/warm.stamp: .venv/test.stamp $(wildcard checkers/linearizability/*.py)
	@echo "compiling the checkers' kernels; the first time takes a minute"
	@$(BIN)/python -c "from checkers.linearizability import warm; warm()"
	@touch $@

# Byte code of all tests and of what they import: several workers that begin at once would each make it.
.venv/collected.stamp: .venv/test.stamp
	@$(BIN)/pytest -q --collect-only > .venv/collected || { tail -n 50 .venv/collected; exit 1; }
	@touch $@

# Two workers a core: many tests wait for time-outs and sockets.
unit: .venv/warm.stamp
	@$(BIN)/pytest -q --durations 15 -n $$((2 * $$(getconf _NPROCESSORS_ONLN))) -m "not container and not spark and not browser and not slow and not night"

# First what computes: beside clusters it would starve them. Of either kind three keep two cores busy.
# Each worker imports the files that can have such tests, and not five hundred others (see tests/conftest.py).
# Of containers what takes longest is begun first, and not what has most tests (see tests/conftest.py).
integration: .venv/warm.stamp
	@.ci/test-needs
	@$(BIN)/kraft-chaos setup
	@$(BIN)/pytest -q --durations 15 -n 3 --dist loadgroup -m "(spark or browser or slow) and not container and not night" \
		$$(grep -lrE --include='test_*.py' 'mark\.(spark|browser|slow)' tests | grep -v '^tests/container/' | sort)
	@$(BIN)/pytest -q --durations 15 -n 3 --dist loadgroup --no-loadscope-reorder -m "not night" tests/container

# Both parts are run, whatever the first one found.
night: .venv/warm.stamp
	@.ci/test-needs
	@$(BIN)/kraft-chaos setup
	@ended=0; \
		$(BIN)/pytest -q --durations 15 -n $$(getconf _NPROCESSORS_ONLN) --dist loadgroup -m "night and not container" || ended=$$?; \
		$(BIN)/pytest -q --durations 15 -n 3 --dist loadgroup --no-loadscope-reorder -m night tests/container || ended=$$?; \
		exit $$ended

# Times itself, for `make bench`.
test: .venv/test.stamp
	@.ci/timed-test

# Short ones: 2,000 of a minute each take hours (docs/results/planted-bugs.md, "The correct node").
swarm: .venv/run.stamp
	@$(BIN)/kraft-chaos campaign --seeds 0..149 --duration 4 --out runs/swarm
	@$(BIN)/kraft-chaos campaign --scenario swarm-brokers --seeds 0..14 --duration 12 --out runs/swarm-brokers

lies: .venv/warm.stamp
	@$(BIN)/python -m tests.lies

bench: .venv/test.stamp
	@$(BIN)/kraft-chaos setup
	@$(BIN)/python -m tests.bench

# What docs/results/findings.md says of Apache Kafka, as scenarios with two sides: what is to be seen in 19
# of 20 runs, and what is chance as well, of which the other side alone has a bar.
BARRED = last-replica-standing clean-stop-power-off clean-stop-then-lead moved-replica moved-replicas \
	elr-wiped lone-controller fenced-last-leader lost-observer hanging-transaction remembered-commit \
	lost-timestamps ghost-topic undeleted-records unreachable-voter unknown-operation
CHANCE = bootstrap-race removed-candidate removed-leader

# Each part is run, whatever another one found.
soak:
	@$(MAKE) --keep-going --no-print-directory soak-node soak-found soak-chance

soak-node: .venv/test.stamp
	@$(BIN)/kraft-chaos setup
	@$(BIN)/python -m tests.soak $(SOAK)

soak-found: .venv/test.stamp
	@$(BIN)/kraft-chaos setup --target kafka
	@$(BIN)/kraft-chaos compare $(BARRED) --times 20 --least 19

soak-chance: .venv/test.stamp
	@$(BIN)/kraft-chaos setup --target kafka
	@$(BIN)/kraft-chaos compare $(CHANCE) --times 20 --least 0 --out runs/soak-chance

fuzz: .venv/test.stamp
	@$(BIN)/python -m tests.fuzz.frames --count 100000
	@$(BIN)/python -m tests.fuzz.files --count 10000
	@$(BIN)/python -m tests.fuzz.requests --count 30000
	@$(BIN)/python -m tests.fuzz.broker_requests --count 30000
	@$(BIN)/python -m tests.fuzz.answers --count 20000
	@$(BIN)/python -m tests.fuzz.processes --count 15000
	@$(BIN)/python -m tests.fuzz.broker_processes --count 5000
	@$(BIN)/python -m tests.fuzz.attacks
	@$(BIN)/python -m tests.fuzz.storms
	@$(BIN)/python -m tests.fuzz.histories --count 2000 --damaged 500
	@$(BIN)/python -m tests.fuzz.bounds --count 5000
	@HYPOTHESIS_PROFILE=explore $(BIN)/pytest -q --durations 15 -n auto --timeout 3600 tests/node/records tests/node/storage

differential: .venv/test.stamp
	@$(BIN)/kraft-chaos setup --target kafka
	@$(BIN)/python -m tests.differential --requests 5000

bare:
	@FRESH=1 .ci/bare-machine 'make chaos && make chaos && make test'

clean:
	rm -rf .venv
