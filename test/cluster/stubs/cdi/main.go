// CDI specs of claims, read, written and removed as NVIDIA's kubelet plugin does it: by the CDI project's own library, which
// container runtimes read them with, too. It names a claim's file itself.
//
//	cdi write FOLDER CLAIM     writes a spec of a channel for the claim with this UID, and prints its file's name
//	cdi inject FOLDER DEVICE   gives a container the device with this CDI name, and prints what it gets: environment and device
//	                           nodes. Fails if the library finds fault with a spec in the folder
//	cdi remove FOLDER CLAIM    removes the claim's spec. Fails if the folder has none
package main

import (
	"errors"
	"fmt"
	"os"

	oci "github.com/opencontainers/runtime-spec/specs-go"
	"tags.cncf.io/container-device-interface/pkg/cdi"
	"tags.cncf.io/container-device-interface/specs-go"
)

const (
	vendor = "k8s.compute-domain.nvidia.com"
	class  = "claim"
)

func write(cache *cdi.Cache, claim string) error {
	node := &specs.DeviceNode{Path: "/dev/nvidia-caps-imex-channels/channel0", HostPath: "/dev/nvidia-caps-imex-channels/channel0",
		Type: "c", Major: 235}
	spec := &specs.Spec{Kind: vendor + "/" + class, Devices: []specs.Device{{Name: claim + "-channel-0",
		ContainerEdits: specs.ContainerEdits{DeviceNodes: []*specs.DeviceNode{node}}}}}
	version, err := cdi.MinimumRequiredVersion(spec)
	if err != nil {
		return err
	}
	spec.Version = version
	name, err := cdi.GenerateNameForTransientSpec(spec, claim)
	if err != nil {
		return err
	}
	fmt.Println(name + ".yaml")
	return cache.WriteSpec(spec, name+".yaml")
}

func inject(cache *cdi.Cache, device string) error {
	for path, faults := range cache.GetErrors() {
		return fmt.Errorf("%s: %w", path, errors.Join(faults...))
	}
	container := &oci.Spec{Process: &oci.Process{}, Linux: &oci.Linux{}}
	if unresolved, err := cache.InjectDevices(container, device); err != nil {
		return fmt.Errorf("%q: %w", unresolved, err)
	}
	for _, variable := range container.Process.Env {
		fmt.Println(variable)
	}
	for _, node := range container.Linux.Devices {
		fmt.Println(node.Type, node.Major, node.Minor, node.Path)
	}
	return nil
}

// The library's own RemoveSpec succeeds without a file, too.
func remove(cache *cdi.Cache, claim string) error {
	name := cdi.GenerateTransientSpecName(vendor, class, claim)
	for _, spec := range cache.GetVendorSpecs(vendor) {
		if spec.GetDevice(claim+"-channel-0") == nil {
			continue
		}
		if err := cache.RemoveSpec(name); err != nil {
			return err
		}
		if _, err := os.Stat(spec.GetPath()); !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s is still there after %s was removed", spec.GetPath(), name)
		}
		return nil
	}
	return fmt.Errorf("no spec has a channel of claim %s", claim)
}

func run(arguments []string) error {
	if len(arguments) != 3 {
		return fmt.Errorf("no command is %q", arguments)
	}
	cache, err := cdi.NewCache(cdi.WithSpecDirs(arguments[1]), cdi.WithAutoRefresh(false))
	if err != nil {
		return err
	}
	commands := map[string]func(*cdi.Cache, string) error{"write": write, "inject": inject, "remove": remove}
	command, known := commands[arguments[0]]
	if !known {
		return fmt.Errorf("no command is %q", arguments)
	}
	return command(cache, arguments[2])
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "cdi:", err)
		os.Exit(1)
	}
}
