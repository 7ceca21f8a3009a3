// What the plugin for GPUs stores. It has no state for a claim that was given up, and says no version of its layout.
package main

import (
	"fmt"
)

type gpuDevice struct {
	device
	ShareID string `json:",omitempty"`
}

type gpu struct {
	Info struct {
		UUID string `json:"uuid"`
	} `json:"info"`
	Device gpuDevice `json:"device"`
}

type mig struct {
	Concrete struct {
		ParentMinor    int    `json:"parentMinor"`
		GIID           int    `json:"giId"`
		CIID           int    `json:"ciId"`
		MigUUID        string `json:"migUUID"`
		ParentUUID     string `json:"parentUUID"`
		ParentPCIBusID string `json:"parentPCIBusID,omitempty"`
	} `json:"concrete"`
	Device gpuDevice `json:"device"`
}

type gpuGroup = group[
	struct {
		Gpu *gpu `json:"gpu"`
		Mig *mig `json:"mig"`
	},
	struct {
		MpsControlDaemonID string `json:"mpsControlDaemonID"`
		MpsApplied         *bool  `json:"mpsApplied,omitempty"`
		TimeSliceApplied   *bool  `json:"timeSliceApplied,omitempty"`
	}]

const gpusCompleted = "PrepareCompleted"

// showGpus names each device of the claim with its UUID.
func showGpus(claim claimV2[gpuGroup]) (string, error) {
	if claim.CheckpointState != gpusCompleted && claim.CheckpointState != "PrepareStarted" || claim.AbortedAt != "" || claim.UnpreparedAt != "" {
		return "", fmt.Errorf("its state is not one of this plugin: %q %q %q", claim.CheckpointState, claim.AbortedAt, claim.UnpreparedAt)
	}
	said := ""
	for _, group := range claim.PreparedDevices {
		for _, one := range group.Devices {
			switch {
			case one.Gpu != nil:
				said += " " + one.Gpu.Device.DeviceName + "=" + one.Gpu.Info.UUID
			case one.Mig != nil:
				said += " " + one.Mig.Device.DeviceName + "=" + one.Mig.Concrete.MigUUID
			default:
				return "", fmt.Errorf("a device is neither a GPU nor a MIG device")
			}
		}
	}
	return said, nil
}

// byConfiguration: that plugin has one configuration for all GPUs of a claim, and another for its MIG devices, unless the claim says
// others. Each makes a group.
func byConfiguration(groups []gpuGroup) []gpuGroup {
	var gpus, migs gpuGroup
	for _, group := range groups {
		for _, one := range group.Devices {
			to := &migs
			if one.Gpu != nil {
				to = &gpus
			}
			to.Devices = append(to.Devices, one)
		}
	}
	made := []gpuGroup{}
	for _, group := range []gpuGroup{migs, gpus} {
		if len(group.Devices) > 0 {
			made = append(made, group)
		}
	}
	return made
}

// rewriteGpus leaves out the names of prepared claims, which that plugin does not store, and makes its groups.
func rewriteGpus(folder string) error {
	found, err := read[gpuGroup](folder)
	if err != nil {
		return err
	}
	for uid, claim := range found.V2.PreparedClaims {
		if claim.CheckpointState == gpusCompleted {
			claim.Name, claim.Namespace = "", ""
			claim.PreparedDevices = byConfiguration(claim.PreparedDevices)
			found.V2.PreparedClaims[uid] = claim
		}
	}
	found.showCompleted()
	return write(folder, found)
}
