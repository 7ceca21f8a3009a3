# What runs on each commit.

step("lint: format" COMMAND test/lint/format.sh)
step("lint: rules over the sources" NEEDS release LOCK processors COST 1
     COMMAND ctest --preset release -L lint --verbose)
step("lint: clang-tidy" LOCK processors COST 300 COMMAND test/lint/tidy.sh)

step("unit: the suite itself" COMMAND ${pytest} test/suite)
step("unit: ASan and UBSan" NEEDS asan LOCK processors COST 790 MINUTES 45 COMMAND ctest --preset asan --verbose -LE lint -E "sweep_test: ")
step("unit: coverage of planner and oracles" NEEDS asan LOCK processors COST 200 COMMAND scripts/coverage.sh)
step("unit: TSan" NEEDS ${cluster} LOCK processors COST 400 COMMAND test/suite/tsan.sh)
step("fuzz: corpora" NEEDS asan LOCK processors COST 250 COMMAND scripts/fuzz.sh)
step("fuzz: it finds what is broken" NEEDS asan LOCK processors COST 240 COMMAND test/fuzz/fuzz_test.sh)
step("sweep: one eighth under ASan" NEEDS asan LOCK processors COST 500 COMMAND test/suite/sweeps.sh --preset asan --one-of 8)
step("sweep: faults at requests" NEEDS sweeps LOCK processors COST 690 COMMAND test/suite/sweeps.sh 22000 20000 600)

step("e2e: control plane" NEEDS ${cluster} COST 50 COMMAND "${controlplane}/controlplane_test.sh")
step("e2e: controller" NEEDS ${cluster} COST 661 COMMAND test/e2e/e2e.sh "${release}")
step("e2e: demo" NEEDS ${cluster} COST 40 COMMAND scripts/demo.sh)
step("e2e: daemons that cannot work" NEEDS ${cluster} COST 60 COMMAND test/e2e/imex/daemon_cases.sh "${release}")
step("e2e: daemons" NEEDS ${cluster} COST 216 COMMAND test/e2e/imex/daemons.sh "${release}")
step("e2e: kubelet plugin" NEEDS ${cluster} COST 64 COMMAND test/e2e/plugin/plugin_test.sh "${release}")
# One process for each module, but test_real_nodes.py.
file(GLOB modules CONFIGURE_DEPENDS RELATIVE "${repo}/test/e2e" "${repo}/test/e2e/test_*.py")
list(REMOVE_ITEM modules test_real_nodes.py)
foreach(module IN LISTS modules)
  string(REGEX REPLACE "^test_(.*)\\.py$" "\\1" name "${module}")
  string(REPLACE "_" " " name "${name}")
  step("e2e: ${name}" NEEDS ${cluster} COST 100 COMMAND ${pytest} --programs "${release}" "test/e2e/${module}")
endforeach()

step("realnodes: cluster" NEEDS ${kubelets} COST 562 LOCK kubelets COMMAND "${realnodes}/realnodes_test.sh" "${release}")
step("realnodes: nodes" NEEDS ${kubelets} COST 350 LOCK kubelets
     COMMAND ${pytest} --programs "${release}" test/e2e/test_real_nodes.py)
step("realnodes: demo" NEEDS ${kubelets} COST 122 LOCK kubelets COMMAND scripts/demo.sh --real-nodes)

step("image: packages" COMMAND ${pytest} test/packaging/image)
step("image: rules and alerts" COMMAND test/packaging/monitoring/monitoring_test.sh)
step("image: controller" NEEDS release cosign COST 23 COMMAND test/packaging/image/image_test.sh)
step("image: driver" NEEDS release COST 20 LOCK kubelets COMMAND test/packaging/image/driver_test.sh)
step("image: manifests" NEEDS ${cluster} COST 78 COMMAND test/packaging/manifests/manifests_test.sh "${release}")
