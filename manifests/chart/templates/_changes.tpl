{{- /* How values change an object of the manifests. Each takes (dict "root" . "object" OBJECT) and changes the object itself. */}}

{{- define "cdom.keep" -}}
{{- if .root.Values.crds.keep }}
{{- $annotations := .object.metadata.annotations | default dict }}
{{- $_ := set .object.metadata "annotations" (set $annotations "helm.sh/resource-policy" "keep") }}
{{- end }}
{{- end }}

{{- define "cdom.draVersion" -}}
{{- $_ := set .object "apiVersion" (include "cdom.dra" .root) }}
{{- end }}

{{- define "cdom.parameterVersion" -}}
{{- with .object.spec.paramKind }}
{{- if hasPrefix "resource.k8s.io/" .apiVersion }}{{ $_ := set . "apiVersion" (include "cdom.dra" $.root) }}{{ end }}
{{- end }}
{{- end }}

{{- define "cdom.account" -}}
{{- if eq .object.kind "ServiceAccount" }}
{{- with .root.Values.serviceAccount.annotations }}{{ $_ := set $.object.metadata "annotations" . }}{{ end }}
{{- end }}
{{- end }}

{{- /* On another Lease than the manifests': the Role names it, and the Leases that must have no other leader. Beside NVIDIA's
  controller, cdom's also reads whether that one elects. */}}
{{- define "cdom.controllerAccess" -}}
{{- include "cdom.account" . }}
{{- $lease := include "cdom.lease" .root }}
{{- range .object.rules }}
{{- if and .resourceNames (has "leases" .resources) (ne $lease "cdom-controller") }}
{{- $_ := set . "resourceNames" (has "update" .verbs | ternary (list $lease) (append .resourceNames "cdom-controller")) }}
{{- end }}
{{- end }}
{{- if and (eq .object.kind "Role") (eq .root.Values.mode "beside") }}
{{- $deployments := dict "apiGroups" (list "apps") "resources" (list "deployments") "verbs" (list "list") }}
{{- $_ := set .object "rules" (append .object.rules $deployments) }}
{{- end }}
{{- end }}

{{- /* Labels by which a Prometheus selects, and the page and Grafana to which alerts link. Beside NVIDIA's controller that one may lead, which is
  no reason for an alert. */}}
{{- define "cdom.monitors" -}}
{{- if has .object.kind (list "PodMonitor" "PrometheusRule") }}
{{- $_ := set .object.metadata "labels" (merge (deepCopy .root.Values.monitoring.labels) .object.metadata.labels) }}
{{- end }}
{{- if eq .object.kind "PrometheusRule" }}
{{- range .object.spec.groups }}
{{- $rules := list }}
{{- range .rules }}
{{- with .annotations }}
{{- $_ := set . "runbook_url" (printf "%s#%s" $.root.Values.monitoring.runbooks (last (splitList "#" .runbook_url))) }}
{{- $_ = set . "dashboard_url" (printf "%s%s" (trimSuffix "/" $.root.Values.monitoring.dashboards) .dashboard_url) }}
{{- end }}
{{- if not (and (eq $.root.Values.mode "beside") (eq (toString (get . "alert")) "CdomNoLeader")) }}{{ $rules = append $rules . }}{{ end }}
{{- end }}
{{- $_ := set . "rules" $rules }}
{{- end }}
{{- end }}
{{- end }}

{{- define "cdom.controllerPods" -}}
{{- $values := .root.Values.controller }}
{{- $_ := set .object.spec "replicas" $values.replicas }}
{{- $settings := printf "%s%s" (include "cdom.controllerSettings" .root) (include "cdom.configuration" .root) }}
{{- include "cdom.pod" (dict "root" .root "template" .object.spec.template "values" $values "settings" $settings) }}
{{- $container := first .object.spec.template.spec.containers }}
{{- $_ := set $container "image" ($values.image | default (include "cdom.image" .root)) }}
{{- with include "cdom.imexMode" .root }}
{{- /* Acceptance tests read it here, as manifests/overlays/host-imex says. */}}
{{- range $container.env }}
{{- if eq .name "IMEX_MODE" }}{{ $_ := set (unset . "valueFrom") "value" (include "cdom.imexMode" $.root) }}{{ end }}
{{- end }}
{{- end }}
{{- include "cdom.container" (dict "root" .root "container" $container "values" $values.containers.computeDomain) }}
{{- include "cdom.port" (dict "ports" $container.ports "endpoint" $values.metrics.httpEndpoint) }}
{{- end }}

{{- define "cdom.pluginPods" -}}
{{- $values := .root.Values.kubeletPlugin }}
{{- $pod := .object.spec.template.spec }}
{{- $container := first $pod.containers }}
{{- $preflight := first $pod.initContainers }}
{{- $all := list $container $preflight }}
{{- if .root.Values.resources.gpus.enabled }}
{{- include "cdom.addGpus" (dict "root" .root "pod" $pod) }}
{{- $all = append $all (last $pod.containers) }}
{{- end }}
{{- include "cdom.pod" (dict "root" .root "template" .object.spec.template "values" $values "settings" (include "cdom.pluginSettings" .root)) }}
{{- range $all }}
{{- $_ := set . "image" (include "cdom.image" $.root) }}
{{- end }}
{{- include "cdom.container" (dict "root" .root "container" $container "values" $values.containers.computeDomains) }}
{{- /* Preflight has the plugin's variables, and a security context and resources of its own. */}}
{{- include "cdom.container" (dict "root" .root "container" $preflight
      "values" (merge (dict "env" $values.containers.computeDomains.env) $values.containers.init)) }}
{{- include "cdom.port" (dict "ports" $container.ports "endpoint" $values.metrics.computeDomainHttpEndpoint) }}
{{- with $values.updateStrategy }}{{ $_ := set $.object.spec "updateStrategy" . }}{{ end }}
{{- if eq (include "cdom.dra" .root) "resource.k8s.io/v1beta1" }}
{{- include "cdom.oneInstance" (dict "object" .object "containers" $all) }}
{{- end }}
{{- /* Kubelet and plugin name their folders to each other, so each is mounted under the path that it has on the node. */}}
{{- $folders := dict "plugins-registry" (include "cdom.registrarFolder" .root)
      "plugins" (printf "%s/compute-domain.nvidia.com" (include "cdom.pluginsFolder" .root))
      "gpu-plugins" (printf "%s/gpu.nvidia.com" (include "cdom.pluginsFolder" .root)) }}
{{- range $all }}
{{- range .volumeMounts }}
{{- if hasKey $folders .name }}{{ $_ := set . "mountPath" (get $folders .name) }}{{ end }}
{{- end }}
{{- end }}
{{- $_ := set $folders "driver-root" .root.Values.nvidiaDriverRoot }}
{{- range $pod.volumes }}
{{- if hasKey $folders .name }}{{ $_ := set .hostPath "path" (get $folders .name) }}{{ end }}
{{- end }}
{{- $mounts := dict "pod" $pod "containers" $all }}
{{- with .root.Values.altProcDevices }}
{{- include "cdom.mount" (merge (dict "name" "alt-proc-devices" "path" "/alt-proc-devices" "readOnly" true
      "source" (dict "hostPath" (dict "path" . "type" "File"))) $mounts) }}
{{- end }}
{{- if .root.Values.maskNvidiaDriverParams }}
{{- include "cdom.mount" (merge (dict "name" "masked" "path" "/masked" "source" (dict "emptyDir" (dict "medium" "Memory" "sizeLimit" "1Mi"))) $mounts) }}
{{- range $all }}
{{- $_ := set . "command" (concat (list "bash" "-c" (include "cdom.masked" $) "masked") .command) }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Adds the container for GPUs, as manifests/overlays/gpus does. */}}
{{- define "cdom.addGpus" -}}
{{- $pod := .pod }}
{{- range fromYamlArray (.root.Files.Get "files/gpus/container.yaml") }}
{{- $list := last (initial (splitList "/" .path)) }}
{{- $_ := set $pod $list (append (get $pod $list) .value) }}
{{- end }}
{{- $values := .root.Values.kubeletPlugin }}
{{- $container := last $pod.containers }}
{{- range $container.env }}
{{- if eq .name "HTTP_ENDPOINT" }}{{ $_ := set . "value" $values.metrics.gpuHttpEndpoint }}{{ end }}
{{- end }}
{{- if ge (int $values.containers.gpus.healthcheckPort) 0 }}
{{- $port := dict "name" "HEALTHCHECK_PORT" "value" (toString $values.containers.gpus.healthcheckPort) }}
{{- $_ := set $container "env" (append $container.env $port) }}
{{- end }}
{{- include "cdom.container" (dict "root" .root "container" $container "values" $values.containers.gpus) }}
{{- include "cdom.port" (dict "ports" $container.ports "endpoint" $values.metrics.gpuHttpEndpoint) }}
{{- end }}

{{- /* Before v1, classes have no name for an extended resource. */}}
{{- define "cdom.gpuClasses" -}}
{{- include "cdom.draVersion" . }}
{{- if ne .object.apiVersion "resource.k8s.io/v1" }}{{ $_ := unset .object.spec "extendedResourceName" }}{{ end }}
{{- end }}

{{- define "cdom.pluginNetwork" -}}
{{- if .root.Values.resources.gpus.enabled }}
{{- $ingress := first .object.spec.ingress }}
{{- $_ := set $ingress "ports" (append $ingress.ports (dict "protocol" "TCP" "port" "gpu-metrics")) }}
{{- end }}
{{- end }}

{{- /* Adds a volume to the pod, and mounts it in the containers. */}}
{{- define "cdom.mount" -}}
{{- $_ := set .pod "volumes" (append .pod.volumes (merge (dict "name" .name) .source)) }}
{{- $mount := dict "name" .name "mountPath" .path }}
{{- if .readOnly }}{{ $_ = set $mount "readOnly" true }}{{ end }}
{{- range .containers }}{{ $_ := set . "volumeMounts" (append .volumeMounts $mount) }}{{ end }}
{{- end }}

{{- /* Starts a program of the plugin where NVIDIA's library reads that it must not create device nodes. A driver that is being loaded has
  no such file yet. Preflight then does not wait for it with the library: it fails, and the kubelet starts it again. */}}
{{- define "cdom.masked" -}}
set -e
params=/proc/driver/nvidia/params
until [[ -e $params ]] || ((SECONDS >= ${PREFLIGHT_WAIT:-0})); do sleep 1; done
if [[ -e $params ]]; then
  sed 's/^ModifyDeviceFiles: 1$/ModifyDeviceFiles: 0/' $params >/masked/params
  mount --bind /masked/params $params
else
  export PREFLIGHT_WAIT=0
fi
exec "$@"
{{- end }}

{{- /* As manifests/overlays/dra-v1beta1 has it: kubelets 1.32 know one instance of a plugin, so one pod follows the other. */}}
{{- define "cdom.oneInstance" -}}
{{- $_ := set .object.spec.updateStrategy "rollingUpdate" (dict "maxSurge" 0 "maxUnavailable" 1) }}
{{- range .containers }}
{{- $env := list }}
{{- range .env }}{{ if ne .name "POD_UID" }}{{ $env = append $env . }}{{ end }}{{ end }}
{{- $_ := set . "env" $env }}
{{- end }}
{{- end }}

{{- define "cdom.pod" -}}
{{- $pod := .template.spec }}
{{- /* A change of the settings replaces the pods. */}}
{{- $_ := set .template.metadata.annotations "checksum/settings" (sha256sum .settings) }}
{{- $_ = mergeOverwrite .template.metadata.annotations .values.podAnnotations }}
{{- $_ = set $pod "priorityClassName" .values.priorityClassName }}
{{- with .values.podSecurityContext }}{{ $_ := set $pod "securityContext" (mergeOverwrite ($pod.securityContext | default dict) .) }}{{ end }}
{{- with .values.nodeSelector }}{{ $_ := set $pod "nodeSelector" . }}{{ end }}
{{- with .values.tolerations }}{{ $_ := set $pod "tolerations" . }}{{ end }}
{{- with .values.affinity }}{{ $_ := set $pod "affinity" . }}{{ end }}
{{- with .root.Values.imagePullSecrets }}{{ $_ := set $pod "imagePullSecrets" . }}{{ end }}
{{- end }}

{{- define "cdom.container" -}}
{{- $container := .container }}
{{- with .root.Values.image.pullPolicy }}{{ $_ := set $container "imagePullPolicy" . }}{{ end }}
{{- with .values.env }}
{{- /* In place of a variable of the same name: an object with a name twice is refused. */}}
{{- $names := list }}
{{- range . }}{{ $names = append $names .name }}{{ end }}
{{- $env := list }}
{{- range $container.env }}{{ if not (has .name $names) }}{{ $env = append $env . }}{{ end }}{{ end }}
{{- $_ := set $container "env" (concat $env .) }}
{{- end }}
{{- with .values.securityContext }}{{ $_ := set $container "securityContext" (mergeOverwrite $container.securityContext .) }}{{ end }}
{{- with .values.resources }}{{ $_ := set $container "resources" . }}{{ end }}
{{- end }}

{{- /* The first port is that of the endpoint. */}}
{{- define "cdom.port" -}}
{{- $_ := set (first .ports) "containerPort" (int (regexFind "[0-9]+$" .endpoint)) }}
{{- end }}
