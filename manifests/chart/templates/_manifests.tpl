{{- /*
The objects of files of the manifests, each changed by a template of _changes.tpl. The links in files/ lead there.

  include "cdom.manifests" (dict "root" . "files" (list "base/daemon-access.yaml") "components" (list ...) "change" NAME)

components: kustomize components whose patches apply. change: the template that changes each object, if any.
*/}}
{{- define "cdom.manifests" -}}
{{- range $file := .files }}
{{- $text := required (printf "the chart lacks files/%s" $file) ($.root.Files.Get (printf "files/%s" $file)) }}
{{- range $document := splitList "\n---\n" (replace "cdom-system" (include "cdom.namespace" $.root) $text) }}
{{- $object := fromYaml $document }}
{{- range $component := $.components }}
{{- include "cdom.patch" (dict "root" $.root "component" $component "object" $object) }}
{{- end }}
{{- with $.change }}
{{- include . (dict "root" $.root "object" $object) }}
{{- end }}
---
# manifests/{{ $file }}
{{ toYaml $object }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Changes an object as the patches of a component do. Of JSON patches it knows `replace` in objects, which is all they use. */}}
{{- define "cdom.patch" -}}
{{- $component := fromYaml (.root.Files.Get (printf "files/%s/kustomization.yaml" .component)) }}
{{- range $component.patches }}
{{- if and (eq .target.kind $.object.kind) (has (.target.name | default $.object.metadata.name) (list $.object.metadata.name)) }}
{{- range fromYamlArray .patch }}
{{- if ne .op "replace" }}{{ fail (printf "%s: the chart knows no patch %s" $.component .op) }}{{ end }}
{{- $keys := splitList "/" (trimPrefix "/" .path) }}
{{- $at := $.object }}
{{- range initial $keys }}{{ $at = get $at . }}{{ end }}
{{- $_ := set $at (last $keys) .value }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The settings of a file of variables, as YAML. `changes` come on top; an empty one changes nothing. */}}
{{- define "cdom.settings" -}}
{{- $settings := dict }}
{{- range splitList "\n" (.root.Files.Get (printf "files/%s" .file)) }}
{{- if regexMatch "^[A-Z_]+=" . }}
{{- $pair := splitn "=" 2 . }}
{{- $_ := set $settings $pair._0 $pair._1 }}
{{- end }}
{{- end }}
{{- range $name, $value := .changes }}
{{- if ne (toString $value) "" }}{{ $_ := set $settings $name (toString $value) }}{{ end }}
{{- end }}
{{- toYaml $settings }}
{{- end }}
