package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	resource "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
)

// An error that no later attempt fixes.
type permanent struct{ error }

func isPermanent(err error) bool {
	var found permanent
	return errors.As(err, &found)
}

func refuse(format string, arguments ...any) error {
	return permanent{fmt.Errorf(format, arguments...)}
}

// What a claim has for the driver, of either kind.
type config struct {
	APIVersion     string `json:"apiVersion"`
	Kind           string `json:"kind"`
	DomainID       string `json:"domainID"`
	AllocationMode string `json:"allocationMode,omitempty"`
}

var kinds = map[string]string{"channel-0": "ComputeDomainChannelConfig", "daemon-0": "ComputeDomainDaemonConfig"}

var isUID = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString

// What the claim got of this driver: one device.
func allocated(claim *resource.ResourceClaim) (*resource.DeviceRequestAllocationResult, error) {
	var ours []*resource.DeviceRequestAllocationResult
	for i, one := range claim.Status.Allocation.Devices.Results {
		if one.Driver == driver {
			ours = append(ours, &claim.Status.Allocation.Devices.Results[i])
		}
	}
	if len(ours) != 1 || kinds[ours[0].Device] == "" {
		return nil, refuse("the claim needs one device, channel-0 or daemon-0, and has %v", ours)
	}
	return ours[0], nil
}

// The last configuration that is for this request, of the class before the claim, as strictly as NVIDIA's plugin takes it.
func configured(claim *resource.ResourceClaim, result *resource.DeviceRequestAllocationResult) (config, error) {
	var found config
	for _, source := range []resource.AllocationConfigSource{resource.AllocationConfigSourceClass, resource.AllocationConfigSourceClaim} {
		for _, one := range claim.Status.Allocation.Devices.Config {
			if one.Source != source || one.Opaque == nil || one.Opaque.Driver != driver || !isFor(one.Requests, result.Request) {
				continue
			}
			found = config{}
			decoder := json.NewDecoder(bytes.NewReader(one.Opaque.Parameters.Raw))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(&found); err != nil {
				return found, refuse("error decoding config parameters: %w", err)
			}
		}
	}
	if found.APIVersion != "resource.nvidia.com/v1beta1" || found.Kind != kinds[result.Device] || !isUID(found.DomainID) ||
		found.Kind != kinds["channel-0"] && found.AllocationMode != "" {
		return found, refuse("this is no configuration for %s: %+v", result.Device, found)
	}
	return found, nil
}

func isFor(requests []string, request string) bool {
	for _, one := range requests {
		if one == request {
			return true
		}
	}
	return len(requests) == 0
}

func (p *plugin) attempt(ctx context.Context, claim *resource.ResourceClaim) (kubeletplugin.Device, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	result, err := allocated(claim)
	if err != nil {
		return kubeletplugin.Device{}, err
	}
	ready := kubeletplugin.Device{Requests: []string{result.Request}, PoolName: result.Pool, DeviceName: result.Device}
	// Without a fabric a channel is nothing.
	if result.Device == "daemon-0" || p.clique != "" {
		ready.CDIDeviceIDs = []string{cdiKind + "=" + cdiName(claim.UID, result.Device)}
	}
	is, err := p.claims.find(claim.UID)
	if err != nil || is != nil && is.Completed {
		return ready, err
	}
	if p.claims.isLate(claim) {
		return ready, refuse("stale prepare of a claim that was given up")
	}
	holder, err := p.claims.holder(result.Device, claim.UID)
	if err == nil && holder != "" {
		err = fmt.Errorf("%s is held by claim %s", result.Device, holder)
	}
	if err != nil {
		return ready, err
	}
	return ready, p.begin(ctx, claim, result)
}

func (p *plugin) begin(ctx context.Context, claim *resource.ResourceClaim, result *resource.DeviceRequestAllocationResult) error {
	wanted, err := configured(claim, result)
	if err != nil {
		return err
	}
	domain, err := p.api.domain(ctx, wanted.DomainID)
	if err != nil {
		return err
	}
	note := record{UID: claim.UID, Device: result.Device, Domain: wanted.DomainID, Status: claim.Status}
	if err := write(p.claims.path(claim.UID), note); err != nil {
		return err
	}
	if result.Device == "daemon-0" {
		err = p.daemon(claim, domain, wanted.DomainID)
	} else {
		err = p.channel(ctx, claim, domain)
	}
	if err != nil {
		return err
	}
	note.Completed = true
	return write(p.claims.path(claim.UID), note)
}

func (p *plugin) channel(ctx context.Context, claim *resource.ResourceClaim, domain *unstructured.Unstructured) error {
	if domain == nil || domain.GetNamespace() != claim.Namespace {
		return refuse("ComputeDomain not found in namespace %s", claim.Namespace)
	}
	if err := p.api.bind(ctx, string(domain.GetUID())); err != nil {
		return err
	}
	if !p.api.isReady(ctx, domain) {
		return fmt.Errorf("node %s is not ready in ComputeDomain %s", p.node, domain.GetName())
	}
	if p.clique == "" {
		return nil
	}
	// The numbers are those of /dev/null, since no kernel here has the driver's.
	node := map[string]any{"path": "/dev/nvidia-caps-imex-channels/channel0", "type": "c", "major": 1, "minor": 3, "fileMode": 0o666}
	return p.inject(claim.UID, "channel-0", map[string]any{"deviceNodes": []any{node}})
}

func (p *plugin) daemon(claim *resource.ResourceClaim, domain *unstructured.Unstructured, uid string) error {
	if claim.Namespace != p.namespace {
		return refuse("daemons are in namespace %s alone", p.namespace)
	}
	if domain == nil {
		return fmt.Errorf("ComputeDomain %s not found", uid)
	}
	template, err := os.ReadFile(p.template)
	if err != nil {
		return err
	}
	folder := p.domainFolder(uid)
	if err := writeText(filepath.Join(folder, "imexd.cfg.tmpl"), template); err != nil {
		return err
	}
	mounts := []any{map[string]any{"hostPath": folder, "containerPath": "/imexd", "options": []string{"rw", "nosuid", "nodev", "bind"}}}
	for _, program := range []string{"nvidia-imex", "nvidia-imex-ctl"} {
		mounts = append(mounts, map[string]any{"hostPath": filepath.Join(p.imex, program), "containerPath": "/usr/bin/" + program,
			"options": []string{"ro", "nosuid", "nodev", "bind"}})
	}
	return p.inject(claim.UID, "daemon-0", map[string]any{
		"env": []string{"CLIQUE_ID=" + p.clique, "COMPUTE_DOMAIN_UUID=" + uid, "COMPUTE_DOMAIN_NAME=" + domain.GetName(),
			"COMPUTE_DOMAIN_NAMESPACE=" + domain.GetNamespace()},
		"mounts": mounts})
}

func (p *plugin) unprepare(ctx context.Context, uid types.UID) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	note, err := p.claims.find(uid)
	if err != nil || note == nil {
		return err
	}
	if note.Device == "channel-0" {
		if err := p.api.unbind(ctx, note.Domain); err != nil {
			return err
		}
	}
	if err := removed(os.Remove(p.cdiFile(uid))); err != nil {
		return err
	}
	return p.claims.remove(note)
}

func (p *plugin) domainFolder(uid string) string { return filepath.Join(p.folder, "domains", uid) }

// collect removes the folders of domains that are gone.
func (p *plugin) collect(ctx context.Context) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	folders, _ := os.ReadDir(filepath.Join(p.folder, "domains"))
	notes, err := p.claims.all()
	if err != nil || len(folders) == 0 {
		return
	}
	used := map[string]bool{}
	for _, one := range notes {
		used[one.Domain] = true
	}
	for _, one := range folders {
		if used[one.Name()] {
			continue
		}
		if domain, err := p.api.domain(ctx, one.Name()); err == nil && domain == nil {
			_ = os.RemoveAll(p.domainFolder(one.Name()))
		}
	}
}
