package main

import (
	"path/filepath"

	"k8s.io/apimachinery/pkg/types"
)

const cdiKind = "k8s." + driver + "/claim"

func cdiName(uid types.UID, device string) string { return string(uid) + "-" + device }

func (p *plugin) cdiFile(uid types.UID) string {
	return filepath.Join(p.cdi, "k8s."+driver+"-claim_"+string(uid)+".yaml")
}

func (p *plugin) inject(uid types.UID, device string, edits map[string]any) error {
	return write(p.cdiFile(uid), map[string]any{"cdiVersion": "0.5.0", "kind": cdiKind,
		"devices": []any{map[string]any{"name": cdiName(uid, device), "containerEdits": edits}}})
}
