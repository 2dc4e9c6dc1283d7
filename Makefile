# The commands of this project. `make up` and `make test` are the two that a newcomer needs; both want root.
SHELL := /bin/sh
VENV := .venv
PYTHON := $(VENV)/bin/python
PYTEST := $(PYTHON) -m pytest
PURGE ?=

.PHONY: up down test test-vm test-all check format proto types venv dev

up:  ## a running one-node cluster, and a first Deployment on it
	@packaging/scripts/install-system.sh node
	@packaging/scripts/venv.sh
	@packaging/scripts/up.sh

down:  ## stop everything; PURGE=1 removes the data and configuration too
	@[ ! -x $(VENV)/bin/orlop ] || $(VENV)/bin/orlop down $(if $(PURGE),--purge)

test: dev  ## all tests that need no virtual machine
	@KUBECTL=$$(packaging/scripts/kubectl.sh) $(PYTEST) -m "not vm and not slow" tests

test-vm: dev  ## the tests that boot a Debian machine under QEMU
	@packaging/scripts/install-system.sh vm
	@$(PYTEST) -m vm tests/vm

test-all: dev  ## everything, the soak and kill loops included
	@packaging/scripts/install-system.sh vm
	@KUBECTL=$$(packaging/scripts/kubectl.sh) $(PYTEST) tests

check: dev  ## what CI holds besides the tests
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/mypy
	@$(VENV)/bin/lint-imports

format: dev
	@$(VENV)/bin/ruff format .
	@$(VENV)/bin/ruff check --fix .

proto: dev  ## regenerate the gRPC stubs from proto/*.proto
	@$(PYTHON) -m proto.generate

types: dev  ## regenerate the API types
	@$(PYTHON) -m api.generator

venv:
	@packaging/scripts/venv.sh

dev:
	@packaging/scripts/install-system.sh test
	@packaging/scripts/venv.sh dev
