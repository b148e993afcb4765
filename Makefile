# Skerry: everything that a developer or CI runs. `make help` lists the targets.
# One set of build flags everywhere: compiling Kubernetes takes minutes, and other flags compile it again.

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

export CGO_ENABLED := 0
export GOFLAGS     := -trimpath -mod=readonly
JOBS               ?= $(shell nproc)
HOSTARCH           := $(shell go env GOHOSTARCH)

KUBE_VERSION := v1.37.2
# Binary, packages and image have one version: that of the tag, or for a commit without one 0.0.N, N the number of commits, so that a later
# one is an upgrade.
VERSION      ?= $(or $(shell git describe --tags --exact-match 2>/dev/null | sed 's/^v//'),0.0.$(shell git rev-list --count HEAD 2>/dev/null || echo 0))
COMMIT       := $(shell git describe --always --dirty --exclude '*' --abbrev=40 2>/dev/null || echo unknown)
VERSION_PKG  := k8s.io/component-base/version
# Tests do not have the commit: with it each commit would link and run every one of them again.
TEST_LDFLAGS := -s -w \
  -X $(VERSION_PKG).gitVersion=$(KUBE_VERSION)+skerry -X $(VERSION_PKG).gitMajor=1 -X $(VERSION_PKG).gitMinor=37 \
  -X $(VERSION_PKG).gitTreeState=clean
LDFLAGS      := $(TEST_LDFLAGS) -X main.version=$(VERSION) -X main.commit=$(COMMIT) -X $(VERSION_PKG).gitCommit=$(COMMIT)

# Tools, pinned. Lint is gofmt, go vet and staticcheck's default checks (bugs, dead code, deprecated calls) for everything.
# staticcheck reads Kubernetes from source the first time, which takes three minutes and 1.7 GB.
STATICCHECK    := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK    := golang.org/x/vuln/cmd/govulncheck@v1.9.0
GOFAIL         := go.etcd.io/gofail@v0.2.0
CONTROLLER_GEN := sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0

GOTESTSUM      := gotest.tools/gotestsum@v1.13.0

FUZZTIME         ?= 30s

# What needs clusters has the machine's for itself: a second run waits.
ALONE     := $(CURDIR)/.ci/alone
SCENARIOS := cd testenv && SKERRY_SCENARIOS=1 SKERRY_BIN=$(CURDIR)/bin/skerry TESTENV_BIN=$(CURDIR)/bin/testenv

# $(call parts,TARGET...) makes every target, whatever failed before it, and says last how long each took and what failed.
parts = failed=; took=; for part in $(1); do started=$$SECONDS; \
  $(MAKE) --no-print-directory $$part || failed="$$failed $$part"; \
  took="$$took$$(printf '== %-14s %4d s' $$part $$((SECONDS - started)))"$$'\n'; done; \
  printf '%s' "$$took"; test -z "$$failed" || { echo "== failed:$$failed"; exit 1; }

.PHONY: help
help: ## list the targets
	@awk '/^##@ /{printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## /{name=$$1; sub(/:.*/, "", name); sub(/^[^#]*## /, ""); printf "  %-12s %s\n", name, $$0}' $(MAKEFILE_LIST)

##@ Build and see

# What only compiles collects garbage later: a fifth less time without a cache, for up to 1 GB of a compiler more.
bin/skerry bin/skerry-agent bin/testenv bin/gate compile lint: export GOGC := 800
bin/skerry bin/skerry-agent bin/testenv bin/gate compile lint: export GOMEMLIMIT := 3GiB

.PHONY: build
build: bin/skerry bin/testenv ## build bin/skerry and bin/testenv

.PHONY: bin/skerry
bin/skerry:
	go build -p $(JOBS) -ldflags '$(LDFLAGS)' -o $@ .

# For devices that count bytes: an agent that is no center, in a quarter of the size.
.PHONY: bin/skerry-agent
bin/skerry-agent:
	go build -p $(JOBS) -tags agentonly -ldflags '$(LDFLAGS)' -o $@ .

.PHONY: agent-only
agent-only: bin/skerry-agent ## build bin/skerry-agent, which is an agent alone, for small devices (GOARCH=arm64)
	@ls -l $<

.PHONY: bin/testenv
bin/testenv:
	cd testenv && go build -p $(JOBS) -o ../$@ ./cmd/testenv

# The binary in which the places named by `// gofail:` comments are real, for tests that kill there. It is built from a copy of the
# sources, because gofail rewrites them; everything else of it is in the build cache already.
.PHONY: bin/skerry-failpoints
bin/skerry-failpoints:
	rm -rf bin/failpoints && mkdir -p bin/failpoints
	tar c main.go go.mod go.sum agent packaging server store tunnel | tar x -C bin/failpoints
	cd bin/failpoints && go get $(GOFAIL) && go run $(GOFAIL) enable $$(grep -rl '// gofail:' --include='*.go' . | xargs -n1 dirname | sort -u)
	cd bin/failpoints && go build -p $(JOBS) -ldflags '$(LDFLAGS)' -o ../skerry-failpoints .
	rm -rf bin/failpoints

.PHONY: testenv
testenv: bin/testenv ## install and build what the test clusters need
	@if [ "$$(id -u)" = 0 ]; then bin/testenv install; else echo "not root: simulated clusters only"; fi
	bin/testenv build

.PHONY: demo
demo: build ## show an application move between two real clusters (KEEP=1 leaves it running)
	@if [ "$$(id -u)" = 0 ]; then bin/testenv install; else echo "not root: simulated clusters only"; fi
	bin/testenv build --clusters
	$(ALONE) bin/testenv demo --skerry bin/skerry $(if $(KEEP),--keep)

##@ Test

.PHONY: quick
quick: ## gofmt, vet and tests of what changed and of what imports it, without what links Kubernetes' server
	@TEST_LDFLAGS='$(TEST_LDFLAGS)' JOBS=$(JOBS) .ci/quick

# Compiling comes before tests.
.PHONY: test
test: ## what every change must pass: all unit tests, and the core scenarios
	@$(call parts,build testenv compile race unit testenv-unit core)

.PHONY: test-all
test-all: ## every test there is, before a larger change is done: hours
	@$(call parts,race-all scenarios postgres etcd systemd check-package check-rules completion operators corpus conformance)

.PHONY: nightly
nightly: ## test-all, told flakes under load, a minute of fuzzing each decoder, a million histories, a long walk, the order of the store, all figures
	@rm -f bin/flakes
	@$(call parts,test-all flakes night-fuzz model night-walk stress bench)

.PHONY: flakes
flakes: ## run each test that was told as a flake, since bin/flakes was removed, 20 times while all cores are busy
	.ci/flakes $(TEST_FLAGS)

.PHONY: night-fuzz night-walk
night-fuzz:
	$(MAKE) fuzz FUZZTIME=60s
night-walk:
	$(MAKE) walk PARTITIONS=2000 KILLS=1000 LIMIT=2h

.PHONY: postgres
postgres: build testenv ## install PostgreSQL, and test the center of several replicas on it
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || { test "$$(id -u)" = 0 || { echo "PostgreSQL is missing: apt-get install postgresql" >&2; exit 1; }; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql; }
	SKERRY_POSTGRES=1 go test -p $(JOBS) -count=1 -run 'Postgres|Endpoint' ./store/kine
	SKERRY_POSTGRES=1 go test -p $(JOBS) -count=1 -run 'BorrowRacesOnPostgres' ./server
	SKERRY_POSTGRES=1 go test -p $(JOBS) -count=1 -run '^TestDatastore' ./server/doctor
	$(SCENARIOS) SKERRY_POSTGRES=1 $(ALONE) go test -count=1 -timeout 30m -v -run 'TestScenarios/script/(replicas|rename_replicas|streams_killed|restore_engines)$$' ./scenarios

.PHONY: etcd
etcd: build testenv ## test the center of several replicas on an etcd cluster
	SKERRY_ETCD="$$(bin/testenv tools)/etcd" go test -p $(JOBS) -count=1 -run 'Etcd|Members' ./store/kine
	SKERRY_ETCD="$$(bin/testenv tools)/etcd" go test -p $(JOBS) -count=1 -run 'BorrowRacesOnEtcd' ./server
	SKERRY_ETCD="$$(bin/testenv tools)/etcd" go test -p $(JOBS) -count=1 -run '^TestDatastore' ./server/doctor
	$(SCENARIOS) $(ALONE) go test -count=1 -timeout 30m -v -run 'TestScenarios/script/replicas_etcd$$' ./scenarios

# The Debian that boots is made once, from Debian's own packages, and kept in the cache of testenv.
MACHINE_ROOT := $(or $(SKERRY_TESTENV_CACHE),$(HOME)/.cache/skerry/testenv)/machine/bookworm

$(MACHINE_ROOT)/sbin/init:
	test "$$(id -u)" = 0 || { echo "booting a machine needs root" >&2; exit 1; }
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends systemd-container debootstrap rpm
	rm -rf $(MACHINE_ROOT).new && mkdir -p $(dir $(MACHINE_ROOT))
	debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,ca-certificates,iproute2 bookworm $(MACHINE_ROOT).new
	mv -T $(MACHINE_ROOT).new $(MACHINE_ROOT)

# Beside the package of this commit stand a later version, made of the same binary, and rpm's own root.
.PHONY: systemd
systemd: check-package bin/testenv testenv $(MACHINE_ROOT)/sbin/init ## install, upgrade, break and purge the packages on a Debian that systemd runs (RUN=regexp)
	packaging/deb/build.sh '$(VERSION).1' bin/later bin/nfpm $(HOSTARCH)
	$(SCENARIOS) SKERRY_MACHINE_ROOT=$(MACHINE_ROOT) $(ALONE) go test -count=1 -timeout 20m -v -run '$(or $(value RUN),^TestSystemd$$)' ./scenarios

# Vet runs in lint.
TEST_FLAGS := -vet=off -p $(JOBS) -timeout 30m -ldflags '$(TEST_LDFLAGS)'

# $(call gate,FLAGS,PACKAGES) tests, runs what failed once more, and tells it or refuses it: see packaging/gate. Flags of go test follow.
gate = $(CURDIR)/bin/gate -gotestsum $(CURDIR)/bin/gotestsum -flakes $(CURDIR)/bin/flakes -changed "$$($(CURDIR)/.ci/changed)" $(1) -packages "$(2)" -- $(TEST_FLAGS)

.PHONY: bin/gate
bin/gate: bin/gotestsum
	go build -o $@ ./packaging/gate

bin/gotestsum:
	GOFLAGS=-trimpath GOBIN=$(CURDIR)/bin go install $(GOTESTSUM)

.PHONY: compile
compile: c-compiler ## compile what race and unit test
	CGO_ENABLED=1 go build -race -p $(JOBS) $$(.ci/packages race)
	go build -p $(JOBS) $$(.ci/packages unit)
	go build -p $(JOBS) -tags agentonly -o /dev/null .
	cd testenv && CGO_ENABLED=1 go build -race -p $(JOBS) ./...

.PHONY: race
race: c-compiler bin/gate ## unit tests under the race detector, of all that does not link Kubernetes' server
	CGO_ENABLED=1 $(call gate,-root,$$(.ci/packages race)) -race

.PHONY: unit
unit: bin/gate ## unit tests, without the race detector, of what links Kubernetes' server, and histories of decisions
	$(call gate,-root,$$(.ci/packages unit))
	$(call gate,-root,./server/binding) '-run=^TestHistories$$'

.PHONY: testenv-unit
testenv-unit: c-compiler bin/gate ## unit tests of the test environment
	cd testenv && CGO_ENABLED=1 $(call gate,-root,./...) -race
	cd testenv/wec && $(call gate,-root,./inorder)

# It compiles Kubernetes a second time, with cgo.
.PHONY: race-all
race-all: race testenv-unit ## all unit tests under the race detector, and the isolation test in full without it
	CGO_ENABLED=1 $(call gate,-root,$$(.ci/packages unit)) -race
	SKERRY_ISOLATION=thorough $(call gate,-root,./server) '-run=^TestNoSpaceEscape$$'

# The shells that there are completions for, and what reads man pages.
.PHONY: shells
shells:
	@command -v zsh >/dev/null && command -v fish >/dev/null && command -v groff >/dev/null || { \
	  test "$$(id -u)" = 0 || { echo "zsh, fish or groff is missing: apt-get install zsh fish groff-base" >&2; exit 1; }; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends zsh fish groff-base; }

.PHONY: completion
completion: bin/skerry shells ## complete commands, flags and names in bash, zsh and fish, and read the man pages
	SKERRY_BIN=$(CURDIR)/bin/skerry SKERRY_SHELLS=1 go test -count=1 -v -run '^(TestShells|TestManIsUnderstood$$)' ./packaging/install ./packaging/reference

# The race detector needs cgo, and cgo a C compiler.
.PHONY: c-compiler
c-compiler:
	@command -v gcc >/dev/null || { test "$$(id -u)" = 0 || { echo "gcc is missing: apt-get install gcc libc6-dev" >&2; exit 1; }; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends gcc libc6-dev; }

CORE := first_light relay killed partition moves regressed sealed operator walk users streams webhooks

.PHONY: core
core: build testenv bin/gate bin/skerry-agent ## the scenarios that every change must pass, and those that it touches
	touched=$$(.ci/changed | sed -nE 's,^testenv/testdata/script/(.*)\.txt$$,\1,p'); \
	if [ "$$(wc -w <<<"$$touched")" -gt 8 ]; then touched=; echo "more than 8 scripts are touched: make scenarios runs them" >&2; fi; \
	scripts="$$(echo $(CORE) $$touched)"; \
	$(SCENARIOS) SKERRY_PATIENCE=4 $(ALONE) $(call gate,-v,./scenarios) -count=1 "-run=^TestScenarios$$/^script$$/^($${scripts// /|})$$"

# One package at a time: go test shows nothing of two before they have ended.
.PHONY: scenarios
scenarios: run = $(SCENARIOS) SKERRY_FAILPOINTS_BIN=$(CURDIR)/bin/skerry-failpoints \
  $(ALONE) go test -count=1 -timeout 120m -v $(if $(value RUN),-run '$(value RUN)')
scenarios: build bin/skerry-agent bin/skerry-failpoints testenv ## scenarios over real and simulated clusters (RUN=regexp selects)
	$(run) ./failpoint
	$(run) ./scenarios

##@ Check

.PHONY: lint
lint: ## formatting, go vet, staticcheck
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -d $$(git ls-files '*.go'); echo "run gofmt -w"; exit 1; }
	go vet -p $(JOBS) ./...
	go vet -tags agentonly . ./packaging
	GOFLAGS=-trimpath go run $(STATICCHECK) ./...
	cd testenv && go vet ./... && GOFLAGS=-trimpath go run $(STATICCHECK) ./...

# What it finds changes with the database at vuln.go.dev and not with the code, so the gate does not run it.
.PHONY: vulncheck
vulncheck: ## known vulnerabilities in what the program calls; asks vuln.go.dev
	GOFLAGS=-trimpath go run $(GOVULNCHECK) .

.PHONY: generate
generate: ## generate deepcopy functions, CustomResourceDefinitions and the pages of the reference
	GOFLAGS=-trimpath go run $(CONTROLLER_GEN) object crd paths=./server/api/v1alpha1 output:crd:dir=server/api/v1alpha1/crds
	go run ./packaging/reference/write
	$(MAKE) build
	bin/skerry install reference >packaging/docs/reference/cli.md

# Each section of the page is written by a test that makes a center, or an agent, and reads its registry.
.PHONY: reference
reference: ## write the tables of packaging/docs/reference/metrics.md from what is registered
	SKERRY_UPDATE=1 go test -count=1 -p $(JOBS) -run '^TestMetricsAreDocumented$$' ./server ./agent

# Debian's promtool. The package is unpacked and not installed: installed it would run Prometheus as a service.
bin/promtool:
	rm -rf bin/promdeb && mkdir -p bin/promdeb
	cd bin/promdeb && { apt-get download -qq prometheus || { apt-get update -qq && apt-get download -qq prometheus; }; }
	dpkg-deb -x bin/promdeb/prometheus_*.deb bin/promdeb/root
	mv bin/promdeb/root/usr/bin/promtool $@
	rm -rf bin/promdeb

.PHONY: check-rules
check-rules: bin/promtool ## promtool checks the alerts, and that each fires and does not
	bin/promtool check rules packaging/skerry.rules.yaml
	bin/promtool test rules packaging/skerry.rules.test.yaml

.PHONY: verify
verify: generate ## generated code and go.mod are up to date
	go mod verify >/dev/null
	GOFLAGS=-trimpath go mod tidy -diff
	cd testenv && GOFLAGS=-trimpath go mod tidy -diff
	@test -z "$$(git status --porcelain -- server/api packaging/docs go.mod go.sum)" || \
	  { git status --short -- server/api packaging/docs go.mod go.sum; git diff -- server/api packaging/docs | head -50; echo "generated files differ: commit what make generate made"; exit 1; }

.PHONY: fuzz
fuzz: ## fuzz every decoder (FUZZTIME=30s each); an input that breaks one is written beside its test
	@for f in $$(grep -rlE '^func Fuzz' --include='*_test.go' store tunnel agent server packaging); do \
	  for t in $$(sed -nE 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/p' $$f); do \
	    echo "fuzz $$(dirname $$f) $$t"; packaging/fuzz.sh ./$$(dirname $$f) $$t $(FUZZTIME) || exit 1; done; done

##@ Measure, and try for longer

# The tests that storetest.Figure skips elsewhere, or that measure more where storetest.Figures says so.
.PHONY: figures
figures: ## tests that measure time and memory, on a machine that does nothing else
	@tests=$$(git grep -lE 'storetest\.Figures?\(' -- '*_test.go'); SKERRY_FIGURES=1 go test $(TEST_FLAGS) -p 1 -parallel 1 -count=1 -v -run \
	  "^($$(awk '/^func Test/{name = $$2; sub(/\(.*/, "", name)} /storetest\.Figures?\(/{print name}' $$tests | sort -u | paste -sd'|'))$$" \
	  $$(for t in $$tests; do echo ./$$(dirname $$t); done | sort -u)

# FIGURE is apply, status, wire, flash, memory, spaces, fleet, reports (which is a part of fleet), store, placement, api, gateway or streams;
# WRITES=200000 is for store, AGENTS=5000 and AGENTS_DISK=/dev/shm for fleet, reports and placement, STREAMS=10000 for streams, and for its end
# alone, killed-streams; streams and gateway need root.
.PHONY: bench
bench: build testenv $(if $(filter api,$(FIGURE)),bin/etcd) ## one JSON line a figure, beside a floor of the same run (FIGURE=name; see above it in the Makefile)
ifeq ($(filter fleet reports store placement,$(FIGURE)),)
	$(ALONE) bin/testenv bench --skerry bin/skerry --etcd bin/etcd $(if $(FIGURE),--figure $(FIGURE)) $(if $(STREAMS),--streams $(STREAMS))
endif
ifneq ($(filter fleet,$(or $(FIGURE),fleet)),)
	SKERRY_FLEET=$(or $(AGENTS),1000) SKERRY_FLEET_DISK=$(AGENTS_DISK) SKERRY_BIN=$(CURDIR)/bin/skerry go test -count=1 -timeout 60m -run '^TestFleet$$' -v ./agent | sed -u '/^{/!w /dev/stderr' | sed -un '/^{/p'
endif

ifneq ($(filter reports,$(FIGURE)),)
	SKERRY_FLEET_REPORTS=$(or $(AGENTS),1000) SKERRY_FLEET_DISK=$(AGENTS_DISK) SKERRY_BIN=$(CURDIR)/bin/skerry go test -count=1 -timeout 60m -run '^TestFleetReports$$' -v ./agent | sed -u '/^{/!w /dev/stderr' | sed -un '/^{/p'
endif

ifneq ($(filter store,$(or $(FIGURE),store)),)
	SKERRY_STORE=$(or $(WRITES),50000) go test -count=1 -timeout 60m -run '^TestFigures$$' -v ./store/kine 2>/dev/null | sed -un '/^{/p'
endif

ifneq ($(filter placement,$(or $(FIGURE),placement)),)
	go test -run '^$$' -bench . -benchmem ./server/placement ./server/rollout ./server/binding ./server/scheduler ./server/delivery | awk \
	  '/^Benchmark/ { sub(/^Benchmark/, ""); sub(/-[0-9]+$$/, "", $$1); for (i = 3; i < NF; i += 2) \
	    printf "{\"figure\":\"%s\",\"value\":%s,\"unit\":\"%s\",\"n\":%s}\n", $$1, $$i, $$(i+1), $$2 }'
	SKERRY_FLEET_LOAD=$(or $(AGENTS),100) SKERRY_FLEET_DISK=$(AGENTS_DISK) SKERRY_BIN=$(CURDIR)/bin/skerry go test -count=1 -timeout 60m -run '^TestFleetLoad$$' -v ./agent | sed -u '/^{/!w /dev/stderr' | sed -un '/^{/p'
endif

# Debian's etcd, which stands below the API server that a space is compared with (FIGURE=api). The package is unpacked and not installed:
# installed it would run as a service.
bin/etcd:
	rm -rf bin/deb && mkdir -p bin/deb
	cd bin/deb && { apt-get download -qq etcd-server || { apt-get update -qq && apt-get download -qq etcd-server; }; }
	dpkg-deb -x bin/deb/etcd-server_*.deb bin/deb/root
	mv bin/deb/root/usr/bin/etcd $@
	rm -rf bin/deb

# HISTORIES=n plays fewer or more. Each mutation of the code must break the property that it names.
.PHONY: model
model: ## a million histories of decisions against their properties, and each property against a defect (HISTORIES)
	SKERRY_HISTORIES=$(or $(HISTORIES),1000000) go test -count=1 -timeout 2h -v -run '^TestHistories$$' ./server/binding
	SKERRY_MUTATIONS=1 go test -count=1 -timeout 2h -v -run '^TestMutations$$' ./server/binding

# A walk prints its seed; SEED=n does the same again, PARTITIONS, KILLS, OBJECTS and LIMIT=10m make it shorter or longer, KEEP=1 leaves the logs.
.PHONY: walk
walk: build testenv ## random cuts and kills over three sites, compared with a model (SEED, PARTITIONS, KILLS, OBJECTS)
	$(ALONE) bin/testenv walk --skerry bin/skerry $(if $(SEED),--seed $(SEED)) $(if $(PARTITIONS),--partitions $(PARTITIONS)) \
	  $(if $(KILLS),--kills $(KILLS)) $(if $(OBJECTS),--objects $(OBJECTS)) $(if $(LIMIT),--limit $(LIMIT)) $(if $(KEEP),--keep)

ORDER ?= 1h

.PHONY: stress
stress: ## the order of the store's events and reads (ORDER=1h, LOAD=n busy processes), also on PostgreSQL if installed
	SKERRY_ORDER=$(ORDER) SKERRY_ORDER_LOAD=$(LOAD) go test -count=1 -timeout 0 -v -run 'TestOrder' ./store/kine

SOAK ?= 2h

.PHONY: soak
soak: build testenv ## churn 1,000 objects and 3,000 pods for SOAK (default 2h) and print by how much center and agent grow
	$(ALONE) bin/testenv bench --skerry bin/skerry --figure soak --soak $(SOAK)

# Upstream's specs take minutes to compile and half an hour to run, so they are no part of `make test`.
.PHONY: conformance
conformance: build ## run upstream's e2e specs and kubectl's tests against spaces (FOCUS=regexp, SPACES="1 3", SITE=0, KUBECTL=0)
	mkdir -p bin/conformance
	cd testenv/conformance && go build -p $(JOBS) -ldflags '-s -w -X $(VERSION_PKG).gitVersion=$(KUBE_VERSION)' -o ../../bin/conformance/ \
	  github.com/onsi/ginkgo/v2/ginkgo k8s.io/kubernetes/cmd/kubectl k8s.io/kubernetes/cmd/kubectl-convert
	cd testenv/conformance && go test -p $(JOBS) -c -vet=off -ldflags '-s -w' -o ../../bin/conformance/specs.test ./specs
	cd testenv/conformance/specs && $(CURDIR)/bin/conformance/specs.test -test.run '^TestDeclared$$'
	$(ALONE) bin/testenv conformance --skerry bin/skerry $(if $(value FOCUS),--focus '$(value FOCUS)') $(foreach n,$(or $(SPACES),1 3),--spaces $(n)) \
	  $(if $(filter 0,$(SITE)),--site=false) $(if $(filter 0,$(KUBECTL)),--kubectl=false) --upstream "$$(cd testenv/conformance && go list -m -f '{{.Dir}}' k8s.io/kubernetes)"

# The release of Flux's source-controller whose definitions are used; the controller itself is not.
FLUX_SOURCES := v1.9.6

# The commit of ingress-nginx whose chart, 4.11.0, is installed in a space.
INGRESS_NGINX := v0.0.0-20240708192948-52c50467d67d

# The release of cert-manager whose chart and programs run in a space, as testenv/operators/certmanager/go.mod requires it.
CERT_MANAGER         := github.com/cert-manager/cert-manager
CERT_MANAGER_RELEASE := v1.11.5

# Operators that testenv/operators/NAME/go.mod names as its tool, with what their authors release beside the program, in bin/operators/NAME.
COMPARED := $(basename $(notdir $(wildcard testenv/testdata/operators/compared/*.txt)))

.PHONY: $(COMPARED:%=bin/operators/%/operator)
$(COMPARED:%=bin/operators/%/operator): bin/operators/%/operator:
	mkdir -p $(@D)
	cd testenv/operators/$* && go build -p $(JOBS) -o $(CURDIR)/$@ tool
	from="$$(cd testenv/operators/$* && go list -f '{{.Module.Dir}}' tool)"; \
	  for dir in config manifests charts deploy; do if [ -d "$$from/$$dir" ]; then rm -rf "$(@D)/$$dir" && cp -r --no-preserve=mode "$$from/$$dir" $(@D)/; fi; done
	find $(@D) -name '*.go' -delete

.PHONY: verdicts
verdicts: ## what Argo CD and kstatus say of statuses that a center has merged
	cd testenv/operators/argo && go test -p $(JOBS) ./...
	cd testenv/operators/flux && go test -p $(JOBS) ./verdicts

# These take minutes to compile, so they are no part of `make test`.
.PHONY: operators
operators: verdicts build testenv $(COMPARED:%=bin/operators/%/operator) ## existing operators and GitOps controllers, unmodified, against a space
	mkdir -p bin/operators/cert-manager bin/operators/prometheus-operator/crds bin/operators/prometheus-operator/rbac
	cd testenv/operators && go build -p $(JOBS) -o ../../bin/operators/certs ./certs
	cp "$$(cd testenv/operators && go list -m -f '{{.Dir}}' github.com/cert-manager/cert-manager)"/deploy/crds/*.yaml bin/operators/cert-manager/
	cd testenv/operators/prometheus && go build -p $(JOBS) -o ../../../bin/operators/prometheus-operator/ tool
	cd testenv/operators/prometheus-server && go build -p $(JOBS) -o ../../../bin/operators/prometheus-operator/ tool
	from="$$(cd testenv/operators/prometheus && go list -m -f '{{.Dir}}' github.com/prometheus-operator/prometheus-operator)"/example; \
	  cp "$$from"/prometheus-operator-crd/*.yaml bin/operators/prometheus-operator/crds/ && \
	  cp --no-preserve=mode "$$from"/../bundle.yaml bin/operators/prometheus-operator/ && mkdir -p bin/operators/prometheus-operator/example && \
	  cp --no-preserve=mode "$$from"/rbac/prometheus/*.yaml "$$from"/rbac/prometheus-operator/prometheus-operator-service-monitor.yaml \
	    "$$from"/rbac/prometheus-operator/prometheus-operator-service.yaml bin/operators/prometheus-operator/example/ && \
	  for f in service-account cluster-role cluster-role-binding; do cp "$$from/rbac/prometheus-operator/prometheus-operator-$$f.yaml" bin/operators/prometheus-operator/rbac/ || exit 1; done
	rm -rf bin/operators/ingress-nginx && cp -r --no-preserve=mode \
	  "$$(go mod download -json k8s.io/ingress-nginx@$(INGRESS_NGINX) | sed -n 's/.*"Dir": "\(.*\)",/\1/p')"/charts/ingress-nginx bin/operators/
	from="$$(cd testenv/operators/mariadb && go list -f '{{.Module.Dir}}' tool)"/deploy/charts; rm -rf bin/operators/mariadb/charts && \
	  cp -r --no-preserve=mode "$$from" bin/operators/mariadb/charts && cd bin/operators/mariadb && \
	  for chart in mariadb-operator mariadb-operator-crds; do \
	    $$($(CURDIR)/bin/testenv tools)/helm package --dependency-update --destination . charts/$$chart || exit 1; done
	mkdir -p bin/operators/flux/crds
	cd testenv/operators/flux && go build -p $(JOBS) -o ../../../bin/operators/flux/ github.com/fluxcd/kustomize-controller ./artifact
	cp "$$(cd testenv/operators/flux && go list -m -f '{{.Dir}}' github.com/fluxcd/kustomize-controller)"/config/crd/bases/*.yaml \
	  "$$(go mod download -json github.com/fluxcd/source-controller@$(FLUX_SOURCES) | sed -n 's/.*"Dir": "\(.*\)",/\1/p')"/config/crd/bases/*.yaml bin/operators/flux/crds/
	cd testenv/operators/argo && go build -p $(JOBS) -o ../../../bin/operators/argo .
	for name in jobset lws; do mkdir -p bin/operators/$$name && \
	  (cd testenv/operators/$$name && go build -p $(JOBS) -o $(CURDIR)/bin/operators/$$name/operator tool) && \
	  $$(bin/testenv tools)/kubectl kustomize "$$(cd testenv/operators/$$name && go list -f '{{.Module.Dir}}' tool)"/config/default \
	    >bin/operators/$$name/install.yaml || exit 1; done
	mkdir -p bin/operators/metrics-server
	cd testenv/operators/metrics-server && go build -p $(JOBS) -o ../../../bin/operators/metrics-server/ tool
	$$(bin/testenv tools)/kubectl kustomize \
	  "$$(cd testenv/operators/metrics-server && go list -f '{{.Module.Dir}}' tool)"/manifests/base >bin/operators/metrics-server/install.yaml
	mkdir -p bin/operators/external-dns
	cd testenv/operators/external-dns && go build -p $(JOBS) -o ../../../bin/operators/external-dns/ tool
	cp -r --no-preserve=mode "$$(cd testenv/operators/external-dns && go list -f '{{.Module.Dir}}' tool)"/kustomize bin/operators/external-dns/
	mkdir -p bin/operators/certmanager && rm -f bin/operators/certmanager/*.tgz
	cd testenv/operators/certmanager && go build -p $(JOBS) -ldflags '-X $(CERT_MANAGER)/pkg/util.AppVersion=$(CERT_MANAGER_RELEASE)' \
	  -o $(CURDIR)/bin/operators/certmanager/ tool
	PATH="$$(bin/testenv tools):$$PATH" testenv/operators/certmanager/chart.sh \
	  "$$(cd testenv/operators/certmanager && go list -m -f '{{.Dir}}' $(CERT_MANAGER))" $(CERT_MANAGER_RELEASE) bin/operators/certmanager
	$(SCENARIOS) SKERRY_OPERATORS=$(CURDIR)/bin/operators $(ALONE) go test -count=1 -timeout 80m -v -run '^Test(Compared)?Operators$$' ./scenarios

.PHONY: corpus
corpus: build testenv ## compare a space with a cluster, construct by construct (CORPUS=directory of charts, KIND=simulated, FOCUS=regexp, WORKERS=4)
	$(ALONE) bin/testenv corpus --skerry bin/skerry $(if $(CORPUS),--bundles '$(CORPUS)') $(if $(KIND),--kind $(KIND)) $(if $(value FOCUS),--focus '$(value FOCUS)') $(if $(WORKERS),--workers $(WORKERS))

##@ Ship

.PHONY: check-arm64
check-arm64: bin/skerry bin/skerry-arm64 bin/nfpm ## build the packages for arm64, and run that binary as a center under qemu (installs it when it is missing)
	@command -v qemu-aarch64-static >/dev/null || { test "$$(id -u)" = 0 || { echo "qemu is missing: apt-get install qemu-user-static" >&2; exit 1; }; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends qemu-user-static; }
	packaging/deb/build.sh '$(VERSION)' bin/arm64 bin/nfpm arm64
	packaging/arm64.sh bin/arm64 bin/skerry-arm64 bin/skerry

# IMAGE_ARCH=arm64 makes it for another architecture.
IMAGE_ARCH   ?= $(HOSTARCH)
IMAGE_BINARY := bin/skerry$(patsubst %,-%,$(filter-out $(HOSTARCH),$(IMAGE_ARCH)))

.PHONY: image
image: $(IMAGE_BINARY) ## container image from the built binary (installs buildah when it is missing; IMAGE_ARCH=arm64)
	@command -v buildah >/dev/null || { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends buildah; }
	buildah bud --isolation chroot --platform linux/$(IMAGE_ARCH) --build-arg SOURCE=prebuilt --build-arg BINARY=$(IMAGE_BINARY) --build-arg VERSION=$(VERSION) --build-arg COMMIT=$(COMMIT) -t skerry:$(VERSION) -t skerry:latest .

.PHONY: install
install: bin/skerry ## install the binary into $(DESTDIR)$(PREFIX)/bin
	install -D -m 0755 bin/skerry $(DESTDIR)$(or $(PREFIX),/usr/local)/bin/skerry
	ln -sf skerry $(DESTDIR)$(or $(PREFIX),/usr/local)/bin/kubectl-skerry
	ln -sf skerry $(DESTDIR)$(or $(PREFIX),/usr/local)/bin/kubectl_complete-skerry

NFPM := github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.4
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)

# Where a release's files will be downloaded from: below it is a directory for each version, vVERSION. The krew manifest says so.
export DIST_BASE_URL ?= https://skerry.dev/dist

KREW := sigs.k8s.io/krew/cmd/krew@v0.4.3

# Packages are for this machine's architecture, or for those that are named: ARCHS='amd64 arm64'. The first build for another one takes ten
# minutes.
ARCHS ?= $(HOSTARCH)

bin/skerry-arm64 bin/skerry-amd64: bin/skerry-%: FORCE
	GOARCH=$* go build -p $(JOBS) -ldflags '$(LDFLAGS)' -o $@ .

FORCE:

bin/nfpm:
	GOFLAGS=-trimpath GOBIN=$(CURDIR)/bin go install $(NFPM)

.PHONY: package
package: bin/skerry $(patsubst %,bin/skerry-%,$(filter-out $(HOSTARCH),$(ARCHS))) bin/nfpm ## deb, rpm, kubectl plugin, bill of materials and checksums in bin/dist, the same bytes each time (ARCHS='amd64 arm64')
	packaging/deb/build.sh '$(VERSION)' bin/dist bin/nfpm $(ARCHS)
	@ls -l bin/dist

.PHONY: check-package
check-package: package ## the units are hardened, and a second build has the same bytes
	for unit in center agent; do \
	  systemd-analyze security --offline=true --threshold=15 --no-pager packaging/systemd/skerry-$$unit.service \
	    >bin/exposure || { cat bin/exposure; exit 1; }; tail -1 bin/exposure; done
	cp bin/dist/SHA256SUMS bin/first.sums
	packaging/deb/build.sh '$(VERSION)' bin/dist bin/nfpm $(ARCHS)
	diff bin/first.sums bin/dist/SHA256SUMS
	bin/skerry version | grep -F 'skerry $(VERSION) '
	grep -qF 'uri: $(DIST_BASE_URL:/=)/v$(VERSION)/kubectl-skerry_$(VERSION)_linux_' bin/dist/skerry.krew.yaml
	! DIST_BASE_URL=http://example.com packaging/deb/build.sh '$(VERSION)' bin/refused bin/nfpm $(ARCHS)
	rm -rf bin/krew && GOFLAGS=-trimpath GOBIN=$(CURDIR)/bin/krew go install $(KREW) && export KREW_ROOT=$(CURDIR)/bin/krew && \
	  bin/krew/krew install --manifest=bin/dist/skerry.krew.yaml --archive="$$(echo bin/dist/kubectl-skerry_*_$(HOSTARCH).tar.gz)" && \
	  PATH="$$KREW_ROOT/bin:$$PATH" kubectl-skerry version
