// A stand-in for the kubelet plugin of ComputeDomains, for one node: as NVIDIA's it publishes a channel and a daemon device,
// puts the domain's label on its node for a channel, and hands the channel out once the node's entry is Ready. It says no
// wherever that one does. What it injects into a daemon is a stand-in for IMEX, too.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	resource "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/dynamic-resource-allocation/resourceslice"
)

const (
	driver = "compute-domain.nvidia.com"
	// The kubelet waits 45 s; it must hear what is missing, and not that there was no answer.
	prepareTime = 40 * time.Second
	pause       = 100 * time.Millisecond
	abortedTime = 90 * time.Second
)

type settings struct {
	node, namespace, clique, imex, template, cdi, folder string
	gpus                                                 int
}

type plugin struct {
	settings
	api    api
	mutex  sync.Mutex // Held for an attempt, and not while one waits for the next.
	claims claims
}

func (p *plugin) PrepareResourceClaims(ctx context.Context, all []*resource.ResourceClaim) (map[types.UID]kubeletplugin.PrepareResult, error) {
	ctx, cancel := context.WithTimeout(ctx, prepareTime)
	defer cancel()
	results := map[types.UID]kubeletplugin.PrepareResult{}
	for _, claim := range all {
		results[claim.UID] = p.prepare(ctx, claim)
	}
	return results, nil
}

// Tries until it succeeds, until it never will, or until the time is up.
func (p *plugin) prepare(ctx context.Context, claim *resource.ResourceClaim) kubeletplugin.PrepareResult {
	for {
		device, err := p.attempt(ctx, claim)
		if err == nil {
			log.Printf("prepared %s/%s %s", claim.Namespace, claim.Name, claim.UID)
			return kubeletplugin.PrepareResult{Devices: []kubeletplugin.Device{device}}
		}
		if isPermanent(err) {
			log.Printf("refused %s/%s: %v", claim.Namespace, claim.Name, err)
			return kubeletplugin.PrepareResult{Err: err}
		}
		select {
		case <-ctx.Done():
			log.Printf("gave up %s/%s: %v", claim.Namespace, claim.Name, err)
			return kubeletplugin.PrepareResult{Err: err}
		case <-time.After(pause):
		}
	}
}

func (p *plugin) UnprepareResourceClaims(ctx context.Context, all []kubeletplugin.NamespacedObject) (map[types.UID]error, error) {
	results := map[types.UID]error{}
	for _, claim := range all {
		results[claim.UID] = p.unprepare(ctx, claim.UID)
		log.Printf("unprepared %s %s: %v", claim.NamespacedName, claim.UID, results[claim.UID])
	}
	return results, nil
}

func (p *plugin) HandleError(_ context.Context, err error, message string) {
	log.Printf("%s: %v", message, err)
}

func device(name, kind string) resource.Device {
	id := int64(0)
	return resource.Device{Name: name, Attributes: map[resource.QualifiedName]resource.DeviceAttribute{
		"type": {StringValue: &kind}, "id": {IntValue: &id}}}
}

func run(ctx context.Context, p *plugin, client kubernetes.Interface) error {
	for _, folder := range []string{"domains", "claims"} {
		if err := os.MkdirAll(filepath.Join(p.folder, folder), 0o750); err != nil {
			return err
		}
	}
	helper, err := kubeletplugin.Start(ctx, p, kubeletplugin.KubeClient(client), kubeletplugin.NodeName(p.node),
		kubeletplugin.DriverName(driver), kubeletplugin.PluginDataDirectoryPath(p.folder),
		// A daemon is prepared while a channel waits for it.
		kubeletplugin.Serialize(false))
	if err != nil {
		return err
	}
	defer helper.Stop()
	if p.gpus > 0 {
		// The kubelet wants a folder for its sockets.
		if err := os.MkdirAll(filepath.Join(filepath.Dir(p.folder), gpuDriver), 0o750); err != nil {
			return err
		}
		second, err := (&gpus{p}).publish(ctx, client, p.gpus)
		if second != nil {
			defer second.Stop()
		}
		if err != nil {
			return err
		}
	}
	err = helper.PublishResources(ctx, resourceslice.DriverResources{Pools: map[string]resourceslice.Pool{p.node: {
		Slices: []resourceslice.Slice{{Devices: []resource.Device{device("channel-0", "channel"), device("daemon-0", "daemon")}}}}}})
	for err == nil && ctx.Err() == nil {
		p.collect(ctx)
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
	return err
}

func main() {
	var p plugin
	flag.StringVar(&p.node, "node", "", "this node")
	flag.StringVar(&p.namespace, "namespace", "cdom-system", "of the daemons and cliques")
	flag.StringVar(&p.clique, "clique", "", "NVLink clique of the node; empty: no fabric")
	flag.StringVar(&p.imex, "imex", "", "folder of nvidia-imex and nvidia-imex-ctl")
	flag.StringVar(&p.template, "template", "", "template of IMEX's configuration")
	flag.StringVar(&p.cdi, "cdi", "/var/run/cdi", "folder of CDI files")
	flag.StringVar(&p.folder, "folder", "/var/lib/kubelet/plugins/"+driver, "folder of the plugin")
	flag.IntVar(&p.gpus, "gpus", 0, "GPUs of the node, by a driver of their own; 0: it is not there")
	kubeconfig := flag.String("kubeconfig", "", "how the API server is reached")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		log.Fatal(err)
	}
	config.QPS = -1 // No limit: what a test measures is not this.
	client := kubernetes.NewForConfigOrDie(config)
	p.api = api{client: client, dynamic: dynamic.NewForConfigOrDie(config), settings: &p.settings}
	p.claims = claims{folder: p.folder, aborted: map[types.UID]aborted{}}
	if err := run(ctx, &p, client); err != nil {
		log.Fatal(err)
	}
}

// write puts a file there whole or not at all.
func write(path string, content any) error {
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	return writeText(path, text)
}

func writeText(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path+".tmp", text, 0o644); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}
