# What other steps need first.

step("build: release programs" GIVES release COST 1000 LOCK processors
     COMMAND scripts/build.sh release cluster_programs)
step("build: control plane" GIVES controlplane COST 1000 COMMAND "${controlplane}/build.sh")
file(GLOB other_kubernetes CONFIGURE_DEPENDS RELATIVE "${controlplane}/versions" "${controlplane}/versions/*")
foreach(version IN LISTS other_kubernetes)
  step("build: Kubernetes ${version}" NIGHTLY GIVES kubernetes-${version} LOCK processors MINUTES 60
       ENVIRONMENT CDOM_KUBERNETES=${version} COMMAND "${controlplane}/build.sh")
endforeach()
step("build: containerd" GIVES containerd COST 900 COMMAND nice -n 19 "${realnodes}/build.sh")
step("build: network plugin" GIVES network-plugin COST 900 COMMAND nice -n 19 "${realnodes}/netpol/build.sh")
step("build: reader of NVIDIA's checkpoints" GIVES checkpoints COST 900 COMMAND nice -n 19 "${controlplane}/checkpoint/build.sh")
step("build: stand-in for NVIDIA's controller" GIVES nvidia-controller COST 900
     COMMAND nice -n 19 test/cluster/stubs/nvidia_controller/build.sh)
step("build: Helm" GIVES helm COST 900 COMMAND nice -n 19 test/packaging/chart/helm/build.sh)
file(STRINGS "${repo}/test/e2e/upgrade_from" before REGEX "^[^#]")
step("build: images of the release before" GIVES images-before COST 680 LOCK processors COMMAND test/e2e/build_before.sh ${before} --images)
set(cluster release controlplane)

step("build: unit tests and fuzz targets under ASan" GIVES asan COST 800 LOCK processors MINUTES 75 COMMAND scripts/build.sh asan tests cdom-fuzz)
set(sweeps wide_sweep_test daemon_sweep_test)
list(TRANSFORM sweeps PREPEND test_simulation_scenarios_)
list(APPEND sweeps test_simulation_plugin_sweep_test test_simulation_gpu_sweep_test)
step("build: sweeps" GIVES sweeps NEEDS release COST 700 LOCK processors COMMAND scripts/build.sh release ${sweeps})
