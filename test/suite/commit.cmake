# What runs on each commit; of the steps that are in modules.py, those that it chooses.

step("lint: format" COMMAND test/lint/format.sh)
step("lint: rules over the sources" NEEDS release LOCK processors COST 1
     COMMAND ctest --preset release -L lint --verbose)
step("lint: clang-tidy" LOCK processors COST 300 COMMAND test/lint/tidy.sh)

# Without what its cases print: lines as of other steps.
step("unit: the suite itself" COMMAND /usr/bin/python3 -m pytest -q -p no:cacheprovider test/suite)
step("unit: ASan and UBSan" NEEDS asan LOCK processors COST 790 MINUTES 45
     COMMAND ctest --preset asan --verbose -LE "lint|realtime" -E "sweep_test: ")
step("unit: coverage of planner and oracles" NEEDS asan LOCK processors COST 200 COMMAND scripts/coverage.sh)
step("unit: TSan" NEEDS ${cluster} LOCK processors COST 400 COMMAND test/suite/tsan.sh)
step("fuzz: corpora" NEEDS asan LOCK processors COST 250 COMMAND scripts/fuzz.sh)
step("fuzz: it finds what is broken" NEEDS asan LOCK processors COST 240 COMMAND test/fuzz/fuzz_test.sh)
# A night runs all of them. An odd number of parts, since cases of one scenario stand in pairs.
step("sweep: faults at requests" NEEDS sweeps LOCK processors COST 690 COMMAND test/suite/sweeps.sh --part any/5 1000 900)

step("bench: instructions and memory of a fixed world" NEEDS release LOCK processors COST 150 COMMAND test/bench/fixed_world.sh)

# Two processes run the chosen modules on clusters. Those that need the same cluster share it, one after another.
# What ends its process is not run again, which is what pytest-xdist does otherwise.
set(beside -n 2 --dist loadgroup --max-worker-restart 0 --took=build/suite/took.json -m "not timing")
if(e2e_files)
  step("e2e: clusters" NEEDS ${cluster} ${e2e_needs} COST 950
       COMMAND ${pytest} "--programs=${release}" ${beside} ${e2e_files})
  step("quiet: cases that look at a clock" QUIET NEEDS ${cluster} ${e2e_needs}
       COMMAND test/suite/quiet.py "--programs=${release}" ${e2e_files})
  foreach(version IN LISTS other_kubernetes)
    step("e2e: clusters, on Kubernetes ${version}" NIGHTLY NEEDS release kubernetes-${version} ${e2e_needs} MINUTES 60
         ENVIRONMENT CDOM_KUBERNETES=${version} COMMAND ${pytest} "--programs=${release}" ${beside} ${e2e_files})
  endforeach()
endif()
step("quiet: unit tests with a real clock" QUIET NEEDS asan COMMAND test/suite/quiet.py asan)
step("quiet: unit tests with a real clock, TSan" QUIET COMMAND test/suite/tsan.sh --quiet)
# What it shows are cases of the steps above. That the first command of README.md works is shown by this step alone.
step("e2e: whole demo" NEEDS ${cluster} COST 40 COMMAND scripts/demo.sh)
step("e2e: control plane" NEEDS ${cluster} COST 50 COMMAND "${controlplane}/controlplane_test.sh")

set(kubelets release controlplane containerd)
step("realnodes: cluster" NEEDS ${kubelets} checkpoints COST 562 LOCK kubelets COMMAND "${realnodes}/realnodes_test.sh" "${release}")
# One cluster for all; after the last module nothing is installed on it.
if(realnodes_files)
  step("realnodes: nodes" NEEDS ${kubelets} ${realnodes_needs} COST 800 LOCK kubelets
       COMMAND ${pytest} "--programs=${release}" -m "not timing" ${realnodes_files})
endif()

step("image: packages" COMMAND ${pytest} test/packaging/image)
step("image: release" NEEDS ${cluster} COST 30 COMMAND ${pytest} "--programs=${release}" test/packaging/release)
step("image: health for GitOps" NEEDS controlplane COST 20 COMMAND ${pytest} test/packaging/gitops)
step("image: documentation site" COMMAND ${pytest} test/packaging/site)
step("image: rules and alerts" COMMAND ${pytest} test/packaging/monitoring)
step("image: controller" NEEDS release COST 23 COMMAND test/packaging/image/image_test.sh)
step("image: driver" NEEDS release COST 20 LOCK kubelets COMMAND test/packaging/image/driver_test.sh)
