package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
)

const domainLabel = "resource.nvidia.com/computeDomain"

var (
	domains = schema.GroupVersionResource{Group: "resource.nvidia.com", Version: "v1beta1", Resource: "computedomains"}
	cliques = schema.GroupVersionResource{Group: "resource.nvidia.com", Version: "v1beta1", Resource: "computedomaincliques"}
)

type api struct {
	client   kubernetes.Interface
	dynamic  dynamic.Interface
	settings *settings
}

// The domain of this UID, wherever it lies; nil: there is none.
func (a *api) domain(ctx context.Context, uid string) (*unstructured.Unstructured, error) {
	list, err := a.dynamic.Resource(domains).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		if string(list.Items[i].GetUID()) == uid {
			return &list.Items[i], nil
		}
	}
	return nil, nil
}

// isReady: the node's entry in its clique says so, or the domain's status.
func (a *api) isReady(ctx context.Context, domain *unstructured.Unstructured) bool {
	if a.settings.clique != "" {
		name := string(domain.GetUID()) + "." + a.settings.clique
		clique, err := a.dynamic.Resource(cliques).Namespace(a.settings.namespace).Get(ctx, name, metav1.GetOptions{})
		if err == nil && hasReady(clique, "nodeName", a.settings.node, "daemons") {
			return true
		}
	}
	return hasReady(domain, "name", a.settings.node, "status", "nodes")
}

func hasReady(object *unstructured.Unstructured, key, node string, path ...string) bool {
	entries, _, _ := unstructured.NestedSlice(object.Object, path...)
	for _, one := range entries {
		if entry, ok := one.(map[string]any); ok && entry[key] == node && entry["status"] == "Ready" {
			return true
		}
	}
	return false
}

// bind puts the domain's label on the node, which belongs to one at a time.
func (a *api) bind(ctx context.Context, domain string) error {
	node, err := a.client.CoreV1().Nodes().Get(ctx, a.settings.node, metav1.GetOptions{})
	if err != nil {
		return err
	}
	has, ok := node.Labels[domainLabel]
	if ok && has != domain {
		return fmt.Errorf("label already exists for a different ComputeDomain: %s", has)
	}
	if ok {
		return nil
	}
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	node.Labels[domainLabel] = domain
	_, err = a.client.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
	return err
}

func (a *api) unbind(ctx context.Context, domain string) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		node, err := a.client.CoreV1().Nodes().Get(ctx, a.settings.node, metav1.GetOptions{})
		if err != nil || node.Labels[domainLabel] != domain {
			return err
		}
		delete(node.Labels, domainLabel)
		_, err = a.client.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
		return err
	})
}
