# What takes too long for a commit: each step at most an hour.

foreach(part RANGE 1 2)  # Every fault at every request.
  step("sweep: every request, part ${part} of 2" NIGHTLY LOCK processors MINUTES 60 NEEDS sweeps ENVIRONMENT CDOM_SWEEP=all
       COMMAND test/suite/sweeps.sh --part ${part}/2)
endforeach()

step("build: sweeps under ASan" NIGHTLY GIVES asan-sweeps LOCK processors MINUTES 60 COMMAND scripts/build.sh asan ${sweeps})
foreach(part RANGE 1 4)
  step("sweep: under ASan, part ${part} of 4" NIGHTLY LOCK processors MINUTES 60 NEEDS asan-sweeps ENVIRONMENT CDOM_SWEEP=1
       COMMAND test/suite/sweeps.sh --preset asan --part ${part}/4)
endforeach()

step("build: unit tests under TSan" NIGHTLY GIVES tsan LOCK processors MINUTES 60 COMMAND scripts/build.sh tsan tests)
step("unit: all under TSan" NIGHTLY NEEDS tsan LOCK processors MINUTES 60 ENVIRONMENT CDOM_PROCESSOR_SECONDS=1200
     COMMAND ctest --preset tsan --verbose -LE "lint|realtime" -E "sweep_test: ")
step("build: unit tests as users' compiler builds them" NIGHTLY GIVES release-tests LOCK processors MINUTES 60
     COMMAND scripts/build.sh release tests)
step("unit: as users' compiler builds them" NIGHTLY NEEDS release-tests LOCK processors MINUTES 60
     COMMAND ctest --preset release --verbose -LE "lint|realtime" -E "sweep_test: ")
step("quiet: unit tests with a real clock, as users' compiler builds them" NIGHTLY QUIET NEEDS release-tests MINUTES 60
     COMMAND test/suite/quiet.py release)
step("unit: a hundred thousand domains" NIGHTLY NEEDS release-tests LOCK processors MINUTES 60 ENVIRONMENT CDOM_CHURN=100000
     COMMAND "${repo}/build/release/test/simulation/scenarios/churn_test")
step("lint: clang-tidy of everything" NIGHTLY LOCK processors MINUTES 60 ENVIRONMENT CDOM_BASE= COMMAND test/lint/tidy.sh)
step("fuzz: search" NIGHTLY NEEDS asan LOCK processors MINUTES 60 COMMAND scripts/fuzz.sh 90)

step("e2e: a thousand large objects" NIGHTLY NEEDS ${cluster} MINUTES 60
     COMMAND ${pytest} "--programs=${release}" --large-objects=1000 test/e2e/test_memory.py)
step("e2e: placement, two hundred times" NIGHTLY NEEDS ${cluster} MINUTES 60 ENVIRONMENT CDOM_NIGHTLY=1
     COMMAND ${pytest} "--programs=${release}" test/e2e/test_placement_on_nodes.py -k five_kinds)
step("e2e: beside NVIDIA, fifty kills" NIGHTLY NEEDS ${cluster} nvidia-controller MINUTES 60 ENVIRONMENT CDOM_NIGHTLY=1
     COMMAND ${pytest} "--programs=${release}" test/e2e/test_beside.py -k killed)
step("realnodes: upgrade in any order" NIGHTLY NEEDS ${kubelets} images-before LOCK kubelets MINUTES 60 ENVIRONMENT CDOM_NIGHTLY=1
     COMMAND ${pytest} "--programs=${release}" test/e2e/test_upgrade_on_real_nodes.py)
step("realnodes: long cycles" NIGHTLY NEEDS ${kubelets} checkpoints LOCK kubelets MINUTES 60 ENVIRONMENT CDOM_NIGHTLY=1
     COMMAND "${realnodes}/realnodes_test.sh" "${release}")
step("build: packages for the night" NIGHTLY GIVES nightly-packages COMMAND scripts/deps.sh nightly)
step("image: both architectures" NIGHTLY NEEDS ${cluster} nightly-packages LOCK processors MINUTES 60
     COMMAND test/packaging/image/nightly_test.sh "${release}")
step("image: release, twice" NIGHTLY NEEDS controlplane nightly-packages LOCK processors MINUTES 60
     COMMAND test/packaging/release/nightly_test.sh)
if(DEFINED ENV{CDOM_REFERENCE})  # A checkout of NVIDIA's driver.
  step("reference: end-to-end suite" NIGHTLY NEEDS ${kubelets} helm nightly-packages LOCK kubelets MINUTES 60
       COMMAND test/reference/run.sh --reference "$ENV{CDOM_REFERENCE}")
  step("reference: feature gates" NIGHTLY NEEDS ${kubelets} helm nightly-packages LOCK kubelets MINUTES 30
       COMMAND test/reference/run.sh --gates --reference "$ENV{CDOM_REFERENCE}")
endif()
step("bench: small" NIGHTLY NEEDS ${kubelets} ALONE MINUTES 30 COMMAND scripts/bench.sh --smoke)
step("bench: full size, P1" NIGHTLY NEEDS ${cluster} ALONE MINUTES 60 COMMAND scripts/bench.sh --strict --rows P1)
step("bench: full size, P2 to P12" NIGHTLY NEEDS ${cluster} ALONE MINUTES 60
     COMMAND scripts/bench.sh --rows P2,P3,P4,P5,P6,P7,P8,P9,P10,P11,P12)
step("bench: full size, P13 to P20" NIGHTLY NEEDS ${kubelets} ALONE MINUTES 60
     COMMAND scripts/bench.sh --strict --rows P13,P14,P15,P16,P17,P18,P19,P20)
