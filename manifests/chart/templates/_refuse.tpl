{{- /* Combinations of values that cannot work, each with what to do. */}}
{{- define "cdom.refuse" -}}
{{- $namespace := include "cdom.namespace" . }}
{{- if not (include "cdom.dra" .) }}
{{- fail "the API server serves no resource.k8s.io: use Kubernetes 1.34 or later, or switch on Dynamic Resource Allocation" }}
{{- end }}
{{- if and (eq $namespace "default") (not .Values.allowDefaultNamespace) }}
{{- fail "the driver's namespace would be default: set namespaceOverride, or allowDefaultNamespace=true" }}
{{- end }}
{{- if and (not .Values.controller.leaderElection.enabled) (gt (int .Values.controller.replicas) 1) }}
{{- fail "without leader election several controllers would act: set controller.replicas=1" }}
{{- end }}
{{- if and (eq (include "cdom.imexMode" .) "hostManaged") (not (get .Values.featureGates "HostManagedIMEXDaemon")) }}
{{- fail "resources.computeDomains.imex.mode=hostManaged needs featureGates.HostManagedIMEXDaemon=true" }}
{{- end }}
{{- if eq .Values.mode "beside" }}
{{- if include "cdom.hasPlugin" . }}
{{- fail "with mode=beside NVIDIA's kubelet plugin stays, and two must not run on one node: leave rack and kubeletPlugin.enabled unset" }}
{{- end }}
{{- if not .Values.controller.leaderElection.enabled }}
{{- fail "with mode=beside one of both controllers acts, by leader election: leave controller.leaderElection.enabled unset" }}
{{- end }}
{{- if not .Values.daemon.image }}
{{- fail "with mode=beside set daemon.image to the image that NVIDIA's kubelet plugin runs" }}
{{- end }}
{{- end }}
{{- /* Without the label the policies refuse the daemons. Without a cluster, as in `helm template`, there is nothing to look at. */}}
{{- if and (not (include "cdom.makesNamespace" .)) (lookup "v1" "Namespace" "" "kube-system") }}
{{- $labels := ((lookup "v1" "Namespace" "" $namespace).metadata).labels | default dict }}
{{- if ne (get $labels "cdom.dev/driver") "true" }}
{{- $command := printf "kubectl label namespace %s cdom.dev/driver=true" $namespace }}
{{- if eq .Values.mode "beside" }}{{ fail (printf "namespace %s needs a label: %s" $namespace $command) }}{{ end }}
{{- $command = printf "%s app.kubernetes.io/part-of=cdom pod-security.kubernetes.io/enforce=privileged" $command }}
{{- if not .Values.namespace.create }}{{ fail (printf "create namespace %s, if it does not exist, and run: %s" $namespace $command) }}{{ end }}
{{- fail (printf "install the release into another namespace than %s, which the chart then creates. Or create it, and run: %s"
      $namespace $command) }}
{{- end }}
{{- end }}
{{- end }}
