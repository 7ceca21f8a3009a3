// What Argo CD, Flux and kstatus say about objects, by their own evaluators.
//
//	judge INTEGRATIONS OBJECT...
//
// INTEGRATIONS is the folder of that name, OBJECT a file with an object as the API server has it. Prints JSON: what each tool
// says about each file. Fails if INTEGRATIONS has a field that the tool does not know.
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
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
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

// The evaluator of the only health check in a file of Kustomizations.
func fluxEvaluator(path string) *cel.StatusEvaluator {
	var found []*cel.StatusEvaluator
	for _, text := range strings.Split(read(path), "\n---\n") {
		var kustomization kustomizev1.Kustomization
		exitIf(path, yaml.UnmarshalStrict([]byte(text), &kustomization))
		for _, check := range kustomization.Spec.HealthCheckExprs {
			evaluator, err := cel.NewStatusEvaluator(&check.HealthCheckExpressions)
			exitIf(path, err)
			found = append(found, evaluator)
		}
	}
	if len(found) != 1 {
		exitIf(path, fmt.Errorf("%d health checks", len(found)))
	}
	return found[0]
}

func judge(path string, argocd lua.ResourceHealthOverrides, flux *cel.StatusEvaluator) judgement {
	object := &unstructured.Unstructured{}
	exitIf(path, yaml.Unmarshal([]byte(read(path)), &object.Object))
	byArgoCD, err := health.GetResourceHealth(object, argocd)
	exitIf(path, err)
	byFlux, err := flux.Evaluate(context.Background(), object)
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
	for file, kind := range map[string]any{"applications.yaml": &v1alpha1.Application{}, "project.yaml": &v1alpha1.AppProject{}} {
		for _, text := range strings.Split(read(filepath.Join(argocd, file)), "\n---\n") {
			exitIf(file, yaml.UnmarshalStrict([]byte(text), kind))
		}
	}
	overrides := lua.ResourceHealthOverrides{
		"resource.nvidia.com/ComputeDomain": {HealthLua: read(filepath.Join(argocd, "health.lua"))}}
	evaluator := fluxEvaluator(filepath.Join(flux, "kustomizations.yaml"))
	judgements := map[string]judgement{}
	for _, path := range os.Args[2:] {
		judgements[path] = judge(path, overrides, evaluator)
	}
	exitIf("standard output", json.NewEncoder(os.Stdout).Encode(judgements))
}
