# Two commands matter: `make demo` and `make test`. Both set up what is missing first.
BUILD ?= build/release
JOBS ?= $(shell nproc)
KEEP ?=
SET ?=
TORCH ?=
TIMM ?=
ARGS ?=
CYCLES ?= 200
KILLS ?= 50
SEED ?= 1
SECONDS ?= 60
COUNT ?= 10000
.DEFAULT_GOAL := help
.PHONY: help demo gpu artifacts kernels priors vtab dense test processors papers hosts search bench peers chaos gangs histories exposed fuzz guesses sanitize threads drill own own-training \
  lint build python interchange wheel wheel-check deb deb-check proof docs web sbom offline slurm kubernetes image setup clean

help: ## say what there is
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

demo: ## compare six priors on Fashion-MNIST here and now (KEEP=1 leaves the server running, SET='path=value' changes the specification)
	@tools/setup build
	@$(MAKE) --no-print-directory build
	@BUILD=$(BUILD) KEEP=$(KEEP) tools/demo $(if $(SET),'$(SET)')

gpu: ## set up a machine for a GPU worker: CUDA libraries, programs, kernels, and a check that they load (TORCH=folder of an installed torch)
	@tools/setup gpu $(if $(TORCH),--torch '$(TORCH)')
	@BUILD=$(BUILD) JOBS=$(JOBS) TORCH='$(TORCH)' DASHBOARD=no tools/build locus locus-trainer locus_kernels_cuda
	@$(BUILD)/bin/locus-trainer devices --load

kernels: ## compile the CUDA kernels and write what the compiler says of them to engine/kernels/cuda/figures.md: registers, shared memory, occupancy; needs nvcc, no GPU; minutes
	@tools/setup build
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/build locus_kernels_cuda
	@tools/kernels table $(BUILD)/engine/kernels/cuda > engine/kernels/cuda/figures.md
	@tools/kernels check $(BUILD)/engine/kernels/cuda engine/kernels/cuda/figures.md

priors: ## every prior and the papers' combinations on Fashion-MNIST, three seeds; hours; writes docs/results/priors.md
	@tools/setup build
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/build locus locus-trainer priors_bench
	@BUILD=$(BUILD) tools/priors

vtab: ## the VTAB-1K protocol on small scenes: pre-training, learning rates chosen on 200 images, training on 1000 by full tuning, LoRA and DoRA; some ten minutes; writes docs/results/vtab.md
	@tools/setup build
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/build locus locus-trainer
	@BUILD=$(BUILD) tools/vtab

dense: ## segmentation and depth of small scenes with five position encodings, three seeds; half an hour; writes docs/results/dense.md
	@tools/setup build
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/build locus locus-trainer
	@BUILD=$(BUILD) tools/dense

test: ## run every test: C++, dashboard, browser
	@tools/setup test
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/test

processors: ## the C++ tests as processors without AVX-512 and without AVX2 run them; minutes
	@tools/setup test
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/build all
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/processors

histories: ## COUNT=10000 seeded histories of the simulation by JOBS processes, and what was seen in them (COUNT=n, SEED=first); an hour and more
	@tools/setup test
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/build simulation_test
	@tools/histories $(BUILD) $(COUNT) $(JOBS) $(SEED)

chaos: ## 200 kills of trainers, workers and server, stopped and doubled workers, cut, silent, late and doubling networks, clocks set wrong, as many kills under searches, full disks (root), and certificates that change; nothing may be lost (CYCLES=n, SEED=n)
	@tools/setup test
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/build locus locus-trainer locus_chaos
	@$(BUILD)/tests/locus_chaos --long --network --clocks $(BUILD)/tests/liblocus_wrong_clock.so --cycles $(CYCLES) --seed $(SEED) --bin $(BUILD)/bin --spec tests/chaos/matrix.yaml --work build/chaos
	@$(BUILD)/tests/locus_chaos --disks --cycles $$(($(CYCLES) / 10 + 4)) --seed $(SEED) --bin $(BUILD)/bin --spec tests/chaos/matrix.yaml --work build/chaos-disks || [ $$? = 77 ]
	@$(BUILD)/tests/locus_chaos --cycles $(CYCLES) --seed $(SEED) --bin $(BUILD)/bin --search tests/chaos/search.yaml --work build/chaos-search
	@$(BUILD)/tests/locus_chaos --cycles $$(($(CYCLES) / 10 + 4)) --seed $(SEED) --bin $(BUILD)/bin --tls tests/chaos/matrix.yaml --work build/chaos-tls
	@$(BUILD)/tests/locus_chaos --long --cycles $$(($(CYCLES) / 10 + 4)) --seed $(SEED) --devices 2 --bin $(BUILD)/bin --spec tests/chaos/matrix.yaml --work build/chaos-devices

gangs: ## kill one of 2 or 4 trainers of a model at any step, 50 times (KILLS=n): whoever goes on ends with the same bits; minutes
	@tools/setup test
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/build locus-trainer engine_trainer_test
	@LOCUS_GANG_KILLS=$(KILLS) $(BUILD)/tests/engine_trainer_test --gtest_filter=GangTraining.EndsWithTheSameBitsWhoeverIsKilledOnTheWay

exposed: ## a server on an address of its own with TLS, another machine that enrolls and trains, and everybody who is refused, with the real programs; needs root, makes a network namespace; a minute
	@tools/setup test
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/build locus locus-trainer
	@BUILD=$(BUILD) tools/exposed

guesses: ## whether the time of an answer tells a guesser anything, and whether one caller's flood delays another; a minute on an idle machine
	@tools/setup test
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/build guesses_bench
	@$(BUILD)/bin/guesses_bench

artifacts: ## the contract of artifact stores against an S3 server from the Python package index; a minute
	@tools/setup test
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/build artifacts_test
	@BUILD=$(BUILD) tools/artifacts

fuzz: ## libFuzzer on every reader of outside bytes under address and undefined-behavior sanitizers, SECONDS=60 each (ARGS='yaml http': those alone); the first build takes long; docs/reliability.md
	@tools/setup fuzz
	@SECONDS_EACH=$(SECONDS) JOBS=$(JOBS) tools/fuzz $(ARGS)

sanitize: ## the C++ tests under address and undefined-behavior sanitizers, of the engine those that take minutes; long
	@tools/setup fuzz
	@JOBS=$(JOBS) tools/fuzz --tests

threads: ## the C++ tests of everything but the engine under the thread sanitizer; CONTRIBUTING.md says which reports count; long
	@tools/setup test
	@JOBS=$(JOBS) tools/threads $(ARGS)

papers: ## run the papers' specifications for a few steps on scenes in the formats of their data sets; minutes
	@tools/setup test
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/build all
	@tests/papers/run $(BUILD)

hosts: ## every host with its own position encoding and two others, three seeds; minutes; writes docs/results/hosts.md
	@tools/setup build
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/build locus locus-trainer step_bench
	@BUILD=$(BUILD) tools/hosts

search: ## tune four position encodings by halving 32 settings each, retrain the chosen ones and hold them beside the untuned; some 20 minutes; writes docs/results/tuned.md
	@tools/setup build
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/build locus locus-trainer
	@BUILD=$(BUILD) tools/search

bench: ## every benchmark beside what it is held against (ARGS='--only steps,restart', '--update'); after make peers; an hour on an idle machine
	@tools/setup build
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/build locus locus-trainer step_bench priors_bench control_plane search_bench shares_bench
	@BUILD=$(BUILD) bench/run $(ARGS)

peers: ## what benchmarks are held beside, from PyPI into build/bench/venv; gigabytes
	@bench/peers

drill: ## add a prior, one of every other kind of the engine, and a remote call to copies of the tree, as CONTRIBUTING.md says, and check that everything follows; minutes
	@tools/setup test
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/build all
	@tests/engine/drill/adding_a_prior . $(BUILD) build/drill
	@tests/engine/drill/adding_every_kind . $(BUILD) build/drill
	@tests/server/drill/adding_a_call . $(BUILD) build/drill

own: ## compile examples/own-prior and examples/own-parts outside of the tree against the installed headers, test and train them, and look at what stays; minutes
	@tools/setup test
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/build locus locus-trainer engine_priors_contract_test
	@tests/own/from_build $(BUILD) own_prior
	@tests/own/from_build $(BUILD) own_parts

own-training: ## train examples/own-training with PYTHON=..., a Python that has torch, killed and resumed to the same curves, and compare it; minutes
	@tools/setup test
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/build locus locus-trainer
	@tools/python wheel
	@tests/own/own_training --client build/python/locus_vit_client-*.whl $(BUILD)/bin/locus examples $(or $(PYTHON),$(error PYTHON=FILE names a Python that has torch, such as build/bench/venv/bin/python after make peers))

lint: ## clang-tidy over everything but the engine and the tests; minutes
	@tools/setup test
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/build locus
	@tools/lint --build $(BUILD) --jobs $(JOBS) cli client core server storage worker/app worker/link

build: ## the programs and the dashboard (after tools/setup)
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/build locus locus-trainer

python: ## the Python client's wheel, into build/python
	@tools/python wheel

wheel: ## everything as one Python wheel, into build/wheel: programs, dashboard, client, development files; PyTorch comes from its own wheel
	@tools/setup package
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/build locus locus-trainer engine_priors_contract_test
	@BUILD=$(BUILD) tools/wheel

wheel-check: wheel ## install the wheel on a bare Debian without compiler and network, run the small demo, the client and the notebook there; needs root; minutes, half a gigabyte of packages (ARGS=--all: gigabytes, as pip brings them)
	@BUILD=$(BUILD) tools/wheel-check $(ARGS)

deb: ## Debian packages of program, server, trainer, worker and development files, into build/deb
	@tools/setup package
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/build locus locus-trainer engine_priors_contract_test
	@BUILD=$(BUILD) tools/deb

deb-check: deb ## install the packages on a bare Debian, run the services until an experiment is complete, remove them; needs root; minutes
	@BUILD=$(BUILD) tools/deb-check

proof: wheel deb ## from the packages alone on bare Debians: demo, exports, a prior and a training of one's own; needs root; some twenty minutes, gigabytes of packages
	@BUILD=$(BUILD) tools/proof

interchange: ## exports of a real experiment read back by pandas, TensorBoard and MLflow; minutes, some 900 MB of packages (TIMM=PYTHON, one that has torch and timm such as build/bench/venv/bin/python after make peers: trained models read by timm, too)
	@tools/setup build
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/build locus locus-trainer
	@BUILD=$(BUILD) tools/python interchange $(TIMM)

docs: build ## write the generated pages of docs/ and the pictures of engine/pictures anew
	@BUILD=$(BUILD) tools/docs

sbom: build ## write what the programs and the dashboard are made of to build/sbom/locus.cdx.json (CycloneDX 1.5), and validate it
	@[ -x build/sbom/venv/bin/python ] || python3 -m venv --without-pip build/sbom/venv
	@python3 -m pip --python build/sbom/venv/bin/python install --quiet --disable-pip-version-check --only-binary :all: --require-hashes -r tools/sbom-requirements.txt
	@BUILD=$(BUILD) tools/sbom write build/sbom/locus.cdx.json
	@build/sbom/venv/bin/python tools/sbom check build/sbom/locus.cdx.json

offline: ## build and test with the network cut off, in a folder of its own: what set-up fetched must do; needs root or user namespaces; an hour
	@tools/setup test
	@tools/offline build/offline

slurm: ## start a Slurm of Debian's with two nodes on this machine and run an experiment on workers that its provisioner starts and invites, with jobs cancelled, requeued and pre-empted, daemons killed and a node lost; needs root, some ten minutes
	@tools/setup slurm
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/build locus locus-trainer
	@BUILD=$(BUILD) tools/slurm

kubernetes: ## hold the manifests of deploy/kubernetes to the schemas of Kubernetes; a minute, asks no cluster
	@tools/kubernetes

image: ## container images of server, worker and provisioner into build/image, each twice with the same digest, and the demo's first trial in the worker's; needs root, minutes (ARGS=--cuda: the worker for GPUs, too, after make gpu; --anew: from bases made twice)
	@tools/setup image
	@$(MAKE) --no-print-directory build
	@BUILD=$(BUILD) tools/image $(ARGS)

setup: ## install what is missing, nothing else
	@tools/setup test

clean: ## remove what was built; the download cache stays
	rm -rf build web/dist
