{{- /* What is installed, and under which names. A decision is "true" or empty; a reason against is empty if there is none. */}}

{{- define "cdom.namespace" -}}
{{- .Values.namespaceOverride | default (eq .Values.mode "beside" | ternary .Release.Namespace "cdom-system") }}
{{- end }}

{{- /* With the release in it, the namespace exists before the chart's objects do. */}}
{{- define "cdom.makesNamespace" -}}
{{- if and (eq .Values.mode "standalone") .Values.namespace.create (ne (include "cdom.namespace" .) .Release.Namespace) }}true{{ end }}
{{- end }}

{{- /* Beside NVIDIA's driver its chart has the CRDs, the device classes and the daemons' account. (dict "root" . "value" VALUE) */}}
{{- define "cdom.unlessBeside" -}}
{{- if kindIs "invalid" .value | ternary (eq .root.Values.mode "standalone") .value }}true{{ end }}
{{- end }}

{{- define "cdom.hasPlugin" -}}
{{- if kindIs "invalid" .Values.kubeletPlugin.enabled | ternary .Values.rack .Values.kubeletPlugin.enabled }}true{{ end }}
{{- end }}

{{- define "cdom.noMonitoring" -}}
{{- if eq (toString .Values.monitoring.enabled) "false" -}}
monitoring.enabled is false
{{- else if not (or .Values.rack .Values.monitoring.enabled) -}}
rack and monitoring.enabled are not set
{{- else if not (.Capabilities.APIVersions.Has "monitoring.coreos.com/v1") -}}
the API server does not serve monitoring.coreos.com/v1: install the Prometheus operator, then upgrade this release
{{- end }}
{{- end }}

{{- define "cdom.noPlacement" -}}
{{- if eq (toString .Values.placement.enabled) "false" -}}
placement.enabled is false
{{- else if not (include "cdom.placementVersion" .) -}}
the API server does not serve MutatingAdmissionPolicy, which needs Kubernetes 1.36, or 1.34 and a feature gate: apply manifests/placement/check
{{- else if not (or .Values.placement.enabled (include "cdom.hasCliqueLabel" .)) -}}
no node has the label nvidia.com/gpu.clique: install GPU feature discovery, or set
kubeletPlugin.containers.computeDomains.gpuCliqueLabelEnabled=true, then upgrade this release
{{- end }}
{{- end }}

{{- /* The version of MutatingAdmissionPolicy: the newest that is served, empty if none is. */}}
{{- define "cdom.placementVersion" -}}
{{- $served := "" }}
{{- range list "v1beta1" "v1" }}
{{- if $.Capabilities.APIVersions.Has (printf "admissionregistration.k8s.io/%s/MutatingAdmissionPolicy" .) }}{{ $served = . }}{{ end }}
{{- end }}
{{- $served }}
{{- end }}

{{- define "cdom.hasCliqueLabel" -}}
{{- if and (include "cdom.hasPlugin" .) .Values.kubeletPlugin.containers.computeDomains.gpuCliqueLabelEnabled -}}
true
{{- else -}}
{{- range (lookup "v1" "Node" "" "").items }}
{{- if index (.metadata.labels | default dict) "nvidia.com/gpu.clique" }}true{{ break }}{{ end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "cdom.dra" -}}
{{- $served := "" }}
{{- range list "v1beta1" "v1beta2" "v1" }}
{{- $version := printf "resource.k8s.io/%s" . }}
{{- if $.Capabilities.APIVersions.Has $version }}{{ $served = $version }}{{ end }}
{{- end }}
{{- .Values.resourceApiVersion | default $served }}
{{- end }}

{{- define "cdom.image" -}}
{{- .Values.image.repository }}
{{- with .Values.image.digest }}@{{ . }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "cdom.membershipWriter" -}}
{{- .Values.daemon.membershipWriter | default (empty .Values.daemon.image | ternary "controller" "daemon") }}
{{- end }}

{{- /* Whether a Deployment of the namespace runs NVIDIA's program, by the rule of the controller. */}}
{{- define "cdom.hasNvidiasController" -}}
{{- range (lookup "apps/v1" "Deployment" (include "cdom.namespace" .) "").items }}
{{- if ne (get (.spec.template.metadata.labels | default dict) "app.kubernetes.io/part-of") "cdom" }}
{{- range .spec.template.spec.containers }}
{{- with concat (.command | default list) (.args | default list) }}
{{- if eq (base (first .)) "compute-domain-controller" }}true{{ end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "cdom.lease" -}}
{{- eq .Values.mode "beside" | ternary .Values.handover.lease "cdom-controller" }}
{{- end }}

{{- /* Gates as name=bool, separated by commas. */}}
{{- define "cdom.featureGates" -}}
{{- $gates := list }}
{{- range $name, $value := .Values.featureGates }}{{ $gates = append $gates (printf "%s=%v" $name $value) }}{{ end }}
{{- join "," $gates }}
{{- end }}

{{- define "cdom.imexMode" -}}
{{- with .Values.resources.computeDomains.imex.mode }}{{ if ne . "driverManaged" }}{{ . }}{{ end }}{{ end }}
{{- end }}

{{- define "cdom.controllerSettings" -}}
{{- $values := .Values.controller }}
{{- $secrets := list }}
{{- range .Values.imagePullSecrets }}{{ $secrets = append $secrets .name }}{{ end }}
{{- include "cdom.settings" (dict "root" . "file" "controller/settings.env" "changes" (dict
      "IMAGE_NAME" (.Values.daemon.image | default (include "cdom.image" .))
      "MEMBERSHIP_WRITER" (include "cdom.membershipWriter" .)
      "CD_DAEMON_IMAGE_PULL_SECRET_NAMES" (join "," $secrets)
      "LOG_VERBOSITY" .Values.logVerbosity
      "LOG_VERBOSITY_CD_DAEMON" .Values.logVerbosity
      "FEATURE_GATES" (include "cdom.featureGates" .)
      "IMEX_MODE" (include "cdom.imexMode" .)
      "CONFIG" (empty .Values.config | ternary "" "/etc/cdom/configuration.yaml")
      "HTTP_ENDPOINT" $values.metrics.httpEndpoint
      "METRICS_PATH" $values.metrics.metricsPath
      "LEADER_ELECTION_ENABLED" $values.leaderElection.enabled
      "LEADER_ELECTION_LEASE_LOCK_NAME" (include "cdom.lease" .)
      "BESIDE_NVIDIA" (eq .Values.mode "beside" | ternary "true" "")
      "LEADER_ELECTION_LEASE_DURATION" $values.leaderElection.leaseDuration
      "LEADER_ELECTION_RENEW_DEADLINE" $values.leaderElection.renewDeadline
      "LEADER_ELECTION_RETRY_PERIOD" $values.leaderElection.retryPeriod)) }}
{{- end }}

{{- define "cdom.configuration" -}}
{{- toYaml (merge (dict "apiVersion" "cdom.dev/v1alpha1" "kind" "ControllerConfiguration") .Values.config) }}
{{- end }}

{{- define "cdom.registrarFolder" -}}
{{- .Values.kubeletPlugin.kubeletRegistrarDirectoryPath | default (printf "%s/plugins_registry" .Values.kubeletPlugin.kubeletRootDirectoryPath) }}
{{- end }}

{{- define "cdom.pluginsFolder" -}}
{{- .Values.kubeletPlugin.kubeletPluginsDirectoryPath | default (printf "%s/plugins" .Values.kubeletPlugin.kubeletRootDirectoryPath) }}
{{- end }}

{{- /* What equals the default of the plugin itself is left out, as in the manifests. A driver in a container is as in
  manifests/overlays/driver-container. */}}
{{- define "cdom.pluginSettings" -}}
{{- $values := .Values.kubeletPlugin }}
{{- $container := $values.containers.computeDomains }}
{{- $registrar := include "cdom.registrarFolder" . }}
{{- $plugins := include "cdom.pluginsFolder" . }}
{{- include "cdom.settings" (dict "root" . "file" "kubelet-plugin/settings.env" "changes" (dict
      "NVIDIA_DRIVER_ROOT" .Values.nvidiaDriverRoot
      "KEEP_PRIVILEGES" (eq .Values.nvidiaDriverRoot "/run/nvidia/driver" | ternary "true" "")
      "NVIDIA_CDI_HOOK_PATH" .Values.nvidiaCDIHookPath
      "LOG_VERBOSITY" .Values.logVerbosity
      "FEATURE_GATES" (include "cdom.featureGates" .)
      "IMEX_MODE" (include "cdom.imexMode" .)
      "IMEX_HOST_SOCKET_PATH" .Values.resources.computeDomains.imex.hostSocketPath
      "HTTP_ENDPOINT" $values.metrics.computeDomainHttpEndpoint
      "METRICS_PATH" $values.metrics.metricsPath
      "KUBELET_REGISTRAR_DIRECTORY_PATH" (ne $registrar "/var/lib/kubelet/plugins_registry" | ternary $registrar "")
      "KUBELET_PLUGINS_DIRECTORY_PATH" (ne $plugins "/var/lib/kubelet/plugins" | ternary $plugins "")
      "ALT_PROC_DEVICES_PATH" (empty .Values.altProcDevices | ternary "" "/alt-proc-devices")
      "GPU_CLIQUE_LABEL_ENABLED" ($container.gpuCliqueLabelEnabled | ternary "true" "")
      "HEALTHCHECK_PORT" (ge (int $container.healthcheckPort) 0 | ternary $container.healthcheckPort ""))) }}
{{- end }}
