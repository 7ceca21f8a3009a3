package main

import (
	"context"
	"fmt"
	"path/filepath"

	resource "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/dynamic-resource-allocation/resourceslice"
)

// A second driver beside the domains', as NVIDIA's for GPUs: it publishes some, and gives a claim those that it got. What others
// gave to the same claim is none of its business.
const (
	gpuDriver = "gpu.nvidia.com"
	gpuKind   = "k8s." + gpuDriver + "/device"
)

type gpus struct{ plugin *plugin }

func (g *gpus) PrepareResourceClaims(_ context.Context, all []*resource.ResourceClaim) (map[types.UID]kubeletplugin.PrepareResult, error) {
	results := map[types.UID]kubeletplugin.PrepareResult{}
	for _, claim := range all {
		var devices []kubeletplugin.Device
		for _, one := range claim.Status.Allocation.Devices.Results {
			if one.Driver == gpuDriver {
				devices = append(devices, kubeletplugin.Device{Requests: []string{one.Request}, PoolName: one.Pool, DeviceName: one.Device,
					CDIDeviceIDs: []string{gpuKind + "=" + one.Device}})
			}
		}
		results[claim.UID] = kubeletplugin.PrepareResult{Devices: devices}
	}
	return results, nil
}

// A GPU is the same before and after.
func (g *gpus) UnprepareResourceClaims(_ context.Context, all []kubeletplugin.NamespacedObject) (map[types.UID]error, error) {
	results := map[types.UID]error{}
	for _, claim := range all {
		results[claim.UID] = nil
	}
	return results, nil
}

func (g *gpus) HandleError(ctx context.Context, err error, message string) {
	g.plugin.HandleError(ctx, err, message)
}

// publish starts the driver with so many GPUs, each of which is /dev/null under the name of one.
func (g *gpus) publish(ctx context.Context, client kubernetes.Interface, count int) (*kubeletplugin.Helper, error) {
	var published []resource.Device
	var injected []any
	kind := "gpu"
	for i := range count {
		name := fmt.Sprintf("gpu-%d", i)
		published = append(published, resource.Device{Name: name,
			Attributes: map[resource.QualifiedName]resource.DeviceAttribute{"type": {StringValue: &kind}}})
		node := map[string]any{"path": fmt.Sprintf("/dev/nvidia%d", i), "type": "c", "major": 1, "minor": 3, "fileMode": 0o666}
		injected = append(injected, map[string]any{"name": name, "containerEdits": map[string]any{"deviceNodes": []any{node}}})
	}
	file := filepath.Join(g.plugin.cdi, "k8s."+gpuDriver+".yaml")
	if err := write(file, map[string]any{"cdiVersion": "0.5.0", "kind": gpuKind, "devices": injected}); err != nil {
		return nil, err
	}
	helper, err := kubeletplugin.Start(ctx, g, kubeletplugin.KubeClient(client), kubeletplugin.NodeName(g.plugin.node),
		kubeletplugin.DriverName(gpuDriver), kubeletplugin.PluginDataDirectoryPath(filepath.Join(filepath.Dir(g.plugin.folder), gpuDriver)))
	if err != nil {
		return nil, err
	}
	return helper, helper.PublishResources(ctx, resourceslice.DriverResources{Pools: map[string]resourceslice.Pool{
		g.plugin.node: {Slices: []resourceslice.Slice{{Devices: published}}}}})
}
