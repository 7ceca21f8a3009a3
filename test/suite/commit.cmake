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
step("sweep: one eighth under ASan" NEEDS asan LOCK processors COST 500 COMMAND test/suite/sweeps.sh --preset asan --part any/8)
# A night runs all of them. An odd number of parts, since cases of one scenario stand in pairs.
step("sweep: faults at requests" NEEDS sweeps LOCK processors COST 690 COMMAND test/suite/sweeps.sh --part any/5 1000 900)

step("e2e: control plane" NEEDS ${cluster} COST 50 COMMAND "${controlplane}/controlplane_test.sh")
step("e2e: demo" NEEDS ${cluster} COST 40 COMMAND scripts/demo.sh)
# e2e("rights" 250 controller_rights daemon_rights), which costs 250: these modules in one process, in which those that need the same cluster
# share it.
file(GLOB modules CONFIGURE_DEPENDS RELATIVE "${repo}/test/e2e" "${repo}/test/e2e/test_*.py")
list(TRANSFORM modules REPLACE "^test_(.*)\\.py$" "\\1")
list(REMOVE_ITEM modules pages_on_real_nodes real_nodes upgrade_on_real_nodes)
# A night has them on each of the other versions of Kubernetes, too.
macro(e2e name cost)
  cmake_parse_arguments(E2E "" "" "NEEDS" ${ARGN})
  set(files ${E2E_UNPARSED_ARGUMENTS})
  list(REMOVE_ITEM modules ${files})
  list(TRANSFORM files REPLACE "(.+)" "test/e2e/test_\\1.py")
  step("e2e: ${name}" NEEDS ${cluster} ${E2E_NEEDS} COST ${cost} COMMAND ${pytest} "--programs=${release}" ${files})
  foreach(version IN LISTS other_kubernetes)
    step("e2e: ${name}, on Kubernetes ${version}" NIGHTLY NEEDS release kubernetes-${version} ${E2E_NEEDS} COST ${cost}
         ENVIRONMENT CDOM_KUBERNETES=${version} COMMAND ${pytest} "--programs=${release}" ${files})
  endforeach()
endmacro()
e2e("domains" 250 channels daemon_image domains)
e2e("settings" 200 leader_election requests start waiting_pods)
e2e("life" 250 calm_jobs children deletion labels life paused without_controller)
e2e("members" 250 lost_rights member_warnings members rest)
e2e("actors" 200 actors)
e2e("rights" 250 controller_rights daemon_rights plugin_rights release_rights)
e2e("memory" 240 memory memory_limit)
e2e("policies" 150 policies policies_in_force)
e2e("placement" 200 placement placement_on_nodes)
e2e("tenants" 100 quotas tenants)
e2e("upgrades" 200 dra_versions nvidia_permissions upgrade upgrades NEEDS helm)
e2e("nodes" 250 gpus host_managed insight missing_plugins)
e2e("daemons" 250 imex_daemons)
e2e("kubelet plugin" 80 plugin_channels)
e2e("manifests" 90 install manifests)
e2e("chart" 200 chart chart_values NEEDS helm)
e2e("beside NVIDIA" 140 beside NEEDS nvidia-controller)
e2e("release" 100 release NEEDS helm)
e2e("processes" 80 credentials daemon_errors library outside placement_policies stolen_lease)
e2e("tour" 150 demo playground)
e2e("documents" 190 backup cdi_specs crds examples hardware_report known_fields metrics pages waiting)
e2e("faults" 150 concerns network_policies imex_stand_in unreadable_claims)
# And each other one for itself.
foreach(module IN LISTS modules)
  string(REPLACE "_" " " name "${module}")
  e2e("${name}" 100 ${module})
endforeach()

step("realnodes: cluster" NEEDS ${kubelets} COST 562 LOCK kubelets COMMAND "${realnodes}/realnodes_test.sh" "${release}")
# One cluster for all; behind the last module nothing is installed on it.
step("realnodes: nodes" NEEDS ${kubelets} helm images-before COST 490 LOCK kubelets
     COMMAND ${pytest} "--programs=${release}" test/e2e/test_pages_on_real_nodes.py test/e2e/test_upgrade_on_real_nodes.py test/e2e/test_real_nodes.py)
step("realnodes: demo" NEEDS ${kubelets} COST 122 LOCK kubelets COMMAND scripts/demo.sh --real-nodes)

step("image: packages" COMMAND ${pytest} test/packaging/image)
step("image: release" NEEDS ${cluster} COST 30 COMMAND ${pytest} "--programs=${release}" test/packaging/release)
step("image: health for GitOps" NEEDS controlplane gitops COST 20 COMMAND ${pytest} test/packaging/gitops)
step("image: documentation site" COMMAND ${pytest} test/packaging/site)
step("image: rules and alerts" COMMAND ${pytest} test/packaging/monitoring)
step("image: controller" NEEDS release cosign COST 23 COMMAND test/packaging/image/image_test.sh)
step("image: driver" NEEDS release COST 20 LOCK kubelets COMMAND test/packaging/image/driver_test.sh)
