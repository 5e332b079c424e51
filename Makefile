# The few commands there are. `make help` reads the comments behind the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# The linter is pinned: a new release must not fail a tree that has not changed.
# It is built into bin/, with its version in its name, and never enters go.mod.
GOLANGCI_VERSION := v2.15.0
GOLANGCI := bin/golangci-lint-$(GOLANGCI_VERSION)

# A package's tests take some minutes at most; one that hangs ends with its stacks printed,
# well before the machine that runs it gives up.
TEST_TIMEOUT := 15m

# Tests that break servers wait more than they compute.
TEST_FLAGS := -race -parallel 4 -timeout $(TEST_TIMEOUT)

# What runs with a Redis, and so with the lock on it.
LOCKED_TESTS := OnRealServers|Redis|Replica|FailedOver|BackendKilled|NodesKnow

.PHONY: help
help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | while IFS=$$'\t' read -r target text; do printf '  make %-10s %s\n' "$$target" "$$text"; done

.PHONY: run
run: ## the whole shop in one process, with three demo sales
	@echo 'A first build takes about two minutes; later ones take seconds.'
	go run ./gateway

.PHONY: build
build: ## both programs, into bin/
	go build -o bin/ ./gateway ./backend

.PHONY: test
test: test-deps ## vet, then every test under the race detector
	go vet ./...
	go test $(TEST_FLAGS) ./...
	@# Without any lock: whatever places orders under the lock on Redis, once more.
	RUSHGATE_LOCK_MODE=none go test $(TEST_FLAGS) -run '$(LOCKED_TESTS)' ./gateway
	@# The race detector makes pools forget, so what must not allocate is counted without it.
	go test -run 'Allocates' ./gateway/server

.PHONY: test-deps
test-deps: ## what the tests need beyond Go: a C compiler, Chromium, Redis, MariaDB and PostgreSQL
	@.ci/deps gcc chromium redis-server mariadbd postgres

.PHONY: check
check: $(GOLANGCI) ## format, modules and lint, without changing a file
	@unformatted=$$(gofmt -l .); if [[ -n $$unformatted ]]; then printf 'Not formatted, run make fmt:\n%s\n' "$$unformatted" >&2; exit 1; fi
	go vet ./...
	go mod tidy -diff
	$(GOLANGCI) run ./...

.PHONY: fmt
fmt: ## format all Go files
	gofmt -w .

$(GOLANGCI):
	@echo 'Building the linter, once; it takes some minutes.'
	GOBIN=$(CURDIR)/bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv bin/golangci-lint $@
