package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	resource "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
)

// What is noted of a claim before anything is done for it, and outlives this process: a file each.
type record struct {
	UID       types.UID
	Device    string
	Domain    string
	Completed bool
	Status    resource.ResourceClaimStatus
}

// A claim that was given up before it was prepared. Who asks for the same again is late.
type aborted struct {
	status resource.ResourceClaimStatus
	at     time.Time
}

type claims struct {
	folder  string
	aborted map[types.UID]aborted
}

func (c *claims) path(uid types.UID) string {
	return filepath.Join(c.folder, "claims", string(uid)+".json")
}

// find: nil if there is none.
func (c *claims) find(uid types.UID) (*record, error) {
	text, err := os.ReadFile(c.path(uid))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var found record
	if err == nil {
		err = json.Unmarshal(text, &found)
	}
	return &found, err
}

func (c *claims) all() ([]record, error) {
	files, err := filepath.Glob(c.path("*"))
	var found []record
	for _, file := range files {
		one, failed := c.find(types.UID(strings.TrimSuffix(filepath.Base(file), ".json")))
		if failed != nil {
			return nil, failed
		}
		if one != nil {
			found = append(found, *one)
		}
	}
	return found, err
}

// holder of a device other than this claim; empty: nobody.
func (c *claims) holder(device string, uid types.UID) (types.UID, error) {
	all, err := c.all()
	for _, one := range all {
		if one.Completed && one.Device == device && one.UID != uid {
			return one.UID, err
		}
	}
	return "", err
}

func (c *claims) isLate(claim *resource.ResourceClaim) bool {
	was, ok := c.aborted[claim.UID]
	return ok && time.Since(was.at) < abortedTime && equality.Semantic.DeepEqual(was.status, claim.Status)
}

func (c *claims) remove(one *record) error {
	if !one.Completed {
		c.aborted[one.UID] = aborted{one.Status, time.Now()}
	}
	return removed(os.Remove(c.path(one.UID)))
}

func removed(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
