// The file in which NVIDIA's kubelet plugins store their claims, read and written as they do it: by the kubelet's
// checkpointmanager, whose reader encodes again what it has decoded and compares the checksums. A field that it does not
// know, or another order, is a file that it calls corrupt.
//
//	checkpoint empty BOOT_ID          prints what it writes on a node without claims
//	checkpoint check FOLDER           reads the file, and fails if it would write another; a line for each claim: UID and state
//	checkpoint rewrite FOLDER first    replaces it by one with the same claims, as a plugin writes it that knows neither states nor
//	                                   boots
//	checkpoint rewrite FOLDER latest BEGUN OVER
//	                                   as one that says the version of its layout, began with the claim BEGUN, and took OVER
//	                                   back an hour ago
//
// These are of the plugin for domains. Of the one for GPUs:
//
//	checkpoint gpus check FOLDER      as above, with the names and UUIDs of the devices in each line
//	checkpoint gpus rewrite FOLDER    replaces it by one with the same claims, as if that plugin had prepared them
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"time"

	resource "k8s.io/api/resource/v1"
	"k8s.io/kubernetes/pkg/kubelet/checkpointmanager"
	"k8s.io/kubernetes/pkg/kubelet/checkpointmanager/checksum"
)

const name = "checkpoint.json"

type device struct {
	Requests     []string
	PoolName     string
	DeviceName   string
	CDIDeviceIDs []string
}

type prepared struct {
	Info struct {
		ID int `json:"id"`
	} `json:"info"`
	Device device `json:"device"`
}

// What a driver prepared of a claim with one configuration.
type group[D, C any] struct {
	Devices     []D `json:"devices"`
	ConfigState C   `json:"configState"`
}

type domainGroup = group[
	struct {
		Channel *prepared `json:"channel"`
		Daemon  *prepared `json:"daemon"`
	},
	struct {
		Type          string
		ComputeDomain string
	}]

type claimV1[G any] struct {
	Status          resource.ResourceClaimStatus `json:"status"`
	PreparedDevices []G                          `json:"preparedDevices,omitempty"`
}

type viewV1[G any] struct {
	PreparedClaims map[string]claimV1[G] `json:"preparedClaims,omitempty"`
}

type claimV2[G any] struct {
	CheckpointState string                       `json:"checkpointState"`
	Status          resource.ResourceClaimStatus `json:"status"`
	PreparedDevices []G                          `json:"preparedDevices,omitempty"`
	Name            string                       `json:"name,omitempty"`
	Namespace       string                       `json:"namespace,omitempty"`
	AbortedAt       string                       `json:"abortedAt,omitempty"`
	UnpreparedAt    string                       `json:"unpreparedAt,omitempty"`
}

type viewV2[G any] struct {
	Checksum       checksum.Checksum     `json:"checksum"`
	PreparedClaims map[string]claimV2[G] `json:"preparedClaims,omitempty"`
	NodeBootID     string                `json:"nodeBootID,omitempty"`
}

type file[G any] struct {
	Version  string            `json:"version,omitempty"`
	Checksum checksum.Checksum `json:"checksum"`
	V1       *viewV1[G]        `json:"v1,omitempty"`
	V2       *viewV2[G]        `json:"v2,omitempty"`
}

// sums: of the first view, and of the second without its own.
func (f *file[G]) sums() (first, second checksum.Checksum, err error) {
	text, err := json.Marshal(file[G]{V1: f.V1})
	if err != nil {
		return 0, 0, err
	}
	first = checksum.New(text)
	if f.V2 == nil {
		return first, 0, nil
	}
	view := *f.V2
	view.Checksum = 0
	text, err = json.Marshal(view)
	return first, checksum.New(text), err
}

func (f *file[G]) MarshalCheckpoint() ([]byte, error) {
	first, second, err := f.sums()
	if err != nil {
		return nil, err
	}
	f.Checksum = first
	if f.V2 != nil {
		f.V2.Checksum = second
	}
	return json.Marshal(f)
}

func (f *file[G]) UnmarshalCheckpoint(text []byte) error { return json.Unmarshal(text, f) }

func (f *file[G]) VerifyChecksum() error {
	first, second, err := f.sums()
	if err == nil && (f.Checksum != first || f.V2 != nil && f.V2.Checksum != second) {
		err = errors.New("checkpoint is corrupted")
	}
	return err
}

func (f *file[G]) showCompleted() {
	f.V1 = &viewV1[G]{PreparedClaims: map[string]claimV1[G]{}}
	for uid, claim := range f.V2.PreparedClaims {
		if claim.CheckpointState == "PrepareCompleted" {
			f.V1.PreparedClaims[uid] = claimV1[G]{claim.Status, claim.PreparedDevices}
		}
	}
}

func read[G any](folder string) (*file[G], error) {
	manager, err := checkpointmanager.NewCheckpointManager(folder)
	if err != nil {
		return nil, err
	}
	found := &file[G]{}
	return found, manager.GetCheckpoint(name, found)
}

// check prints a line for each claim: its UID, its state, and what `show` says of it.
func check[G any](folder string, show func(claimV2[G]) (string, error)) error {
	found, err := read[G](folder)
	if err != nil {
		return err
	}
	if found.V2 == nil {
		return errors.New("it has no second view")
	}
	lines := []string{}
	for uid, claim := range found.V2.PreparedClaims {
		more, err := show(claim)
		if err != nil {
			return fmt.Errorf("claim %s: %w", uid, err)
		}
		lines = append(lines, uid+" "+claim.CheckpointState+more)
	}
	sort.Strings(lines)
	for _, line := range lines {
		fmt.Println(line)
	}
	there, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		return err
	}
	found.showCompleted()
	ours, err := found.MarshalCheckpoint()
	if err == nil && !bytes.Equal(there, ours) {
		err = fmt.Errorf("it would write something else:\n%s\n%s", there, ours)
	}
	return err
}

func write[G any](folder string, one *file[G]) error {
	manager, err := checkpointmanager.NewCheckpointManager(folder)
	if err != nil {
		return err
	}
	return manager.CreateCheckpoint(name, one)
}

func rewrite(folder, layout string, uids []string) error {
	found, err := read[domainGroup](folder)
	if err != nil {
		return err
	}
	switch {
	case layout == "first" && len(uids) == 0:
		found.V2 = nil
	case layout == "latest" && len(uids) == 2:
		found.Version = "v2"
		found.V2.PreparedClaims[uids[0]] = claimV2[domainGroup]{CheckpointState: "PrepareStarted", Name: "begun", Namespace: "default"}
		found.V2.PreparedClaims[uids[1]] = claimV2[domainGroup]{CheckpointState: "UnprepareCompleted", Name: "over", Namespace: "default",
			UnpreparedAt: time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)}
	default:
		return fmt.Errorf("no layout is %s %q", layout, uids)
	}
	return write(folder, found)
}

func run(arguments []string) error {
	switch {
	case len(arguments) == 2 && arguments[0] == "empty":
		text, err := (&file[domainGroup]{V1: &viewV1[domainGroup]{}, V2: &viewV2[domainGroup]{NodeBootID: arguments[1]}}).MarshalCheckpoint()
		fmt.Println(string(text))
		return err
	case len(arguments) == 2 && arguments[0] == "check":
		return check(arguments[1], func(claimV2[domainGroup]) (string, error) { return "", nil })
	case len(arguments) > 2 && arguments[0] == "rewrite":
		return rewrite(arguments[1], arguments[2], arguments[3:])
	case len(arguments) == 3 && arguments[0] == "gpus" && arguments[1] == "check":
		return check(arguments[2], showGpus)
	case len(arguments) == 3 && arguments[0] == "gpus" && arguments[1] == "rewrite":
		return rewriteGpus(arguments[2])
	}
	return fmt.Errorf("no command is %q", arguments)
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "checkpoint:", err)
		os.Exit(1)
	}
}
