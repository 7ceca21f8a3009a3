// What Argo CD, Flux and kstatus say about objects, by their own evaluators.
//
//	judge INTEGRATIONS OBJECT...
//
// INTEGRATIONS is the folder of that name, OBJECT a JSON file with an object as the API server has it. Prints JSON: what each
// tool says about each file. Fails if INTEGRATIONS has a field that the tool does not know.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/diff"
	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/lua"
	"github.com/fluxcd/cli-utils/pkg/kstatus/polling/engine"
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

type judgement struct {
	ArgoCD *health.HealthStatus `json:"argocd"`
	// Whether Argo CD finds a difference from what was applied.
	Differs bool   `json:"differs"`
	Flux    string `json:"flux"`
	Kstatus string `json:"kstatus"`
}

func exitIf(what string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "judge: %s: %v\n", what, err)
		os.Exit(1)
	}
}

func read(path string) string {
	text, err := os.ReadFile(path)
	exitIf(path, err)
	return string(text)
}

// What Flux judges by, of a file of Kustomizations.
func fluxReader(path string) engine.StatusReader {
	var checks []kustomize.CustomHealthCheck
	for _, text := range strings.Split(read(path), "\n---\n") {
		var kustomization kustomizev1.Kustomization
		exitIf(path, yaml.UnmarshalStrict([]byte(text), &kustomization))
		checks = append(checks, kustomization.Spec.HealthCheckExprs...)
	}
	reader, err := cel.NewStatusReader(checks)
	exitIf(path, err)
	return reader(nil)
}

func judge(path string, argocd lua.ResourceHealthOverrides, flux engine.StatusReader) judgement {
	object := &unstructured.Unstructured{}
	exitIf(path, object.UnmarshalJSON([]byte(read(path))))
	byArgoCD, err := health.GetResourceHealth(object, argocd)
	exitIf(path, err)
	byFlux, err := flux.ReadStatusForObject(context.Background(), nil, object)
	exitIf(path, err)
	byKstatus, err := status.Compute(object)
	exitIf(path, err)
	applied, err := diff.GetLastAppliedConfigAnnotation(object)
	exitIf(path, err)
	difference, err := diff.Diff(applied, object)
	exitIf(path, err)
	return judgement{byArgoCD, difference.Modified, string(byFlux.Status), string(byKstatus.Status)}
}

func main() {
	argocd, flux := filepath.Join(os.Args[1], "argocd"), filepath.Join(os.Args[1], "flux")
	for file, kind := range map[string]any{"applications.yaml": &v1alpha1.Application{}, "chart.yaml": &v1alpha1.Application{},
		"project.yaml": &v1alpha1.AppProject{}} {
		for _, text := range strings.Split(read(filepath.Join(argocd, file)), "\n---\n") {
			exitIf(file, yaml.UnmarshalStrict([]byte(text), kind))
		}
	}
	overrides := lua.ResourceHealthOverrides{
		"resource.nvidia.com/ComputeDomain": {HealthLua: read(filepath.Join(argocd, "health.lua"))}}
	reader := fluxReader(filepath.Join(flux, "kustomizations.yaml"))
	judgements := map[string]judgement{}
	for _, path := range os.Args[2:] {
		judgements[path] = judge(path, overrides, reader)
	}
	exitIf("standard output", json.NewEncoder(os.Stdout).Encode(judgements))
}
