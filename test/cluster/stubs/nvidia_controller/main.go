// A stand-in for NVIDIA's controller of ComputeDomains. It elects with client-go as NVIDIA's does, has the same program name,
// from which the API server derives the field manager, and writes the same objects.
//
//	compute-domain-controller --kubeconfig FILE
//
// Its other settings are variables of NVIDIA's: POD_NAME, NAMESPACE, IMAGE_NAME, LEADER_ELECTION_*. It lists objects every 500 ms,
// where NVIDIA's watches them and mirrors cliques every 2 s. It knows no feature gates, no nodes without a fabric, and does not
// look for what domains left behind.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
	"sigs.k8s.io/yaml"
)

const (
	label       = "resource.nvidia.com/computeDomain"
	targetLabel = label + "Target"
	finalizer   = label
	period      = 500 * time.Millisecond
	ready       = "Ready"
	notReady    = "NotReady"
)

var (
	domains    = schema.GroupVersionResource{Group: "resource.nvidia.com", Version: "v1beta1", Resource: "computedomains"}
	cliques    = schema.GroupVersionResource{Group: "resource.nvidia.com", Version: "v1beta1", Resource: "computedomaincliques"}
	templates  = schema.GroupVersionResource{Group: "resource.k8s.io", Version: "v1", Resource: "resourceclaimtemplates"}
	daemonSets = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "daemonsets"}
	nodes      = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	pods       = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
)

// The types have the fields that NVIDIA's types have. A PUT of them loses all other fields, such as conditions.
type domain struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		NumNodes int `json:"numNodes,omitempty"`
		Channel  struct {
			ResourceClaimTemplate struct {
				Name string `json:"name"`
			} `json:"resourceClaimTemplate"`
			AllocationMode string `json:"allocationMode,omitempty"`
		} `json:"channel"`
	} `json:"spec,omitempty"`
	Status struct {
		Status string   `json:"status"`
		Nodes  []member `json:"nodes,omitempty"`
	} `json:"status,omitempty"`
}

type member struct {
	Name      string `json:"name"`
	IPAddress string `json:"ipAddress"`
	CliqueID  string `json:"cliqueID"`
	Index     int    `json:"index"`
	Status    string `json:"status,omitempty"`
}

type domainClique struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Daemons           []daemon `json:"daemons,omitempty"`
}

type daemon struct {
	Name      string `json:"nodeName"`
	IPAddress string `json:"ipAddress"`
	CliqueID  string `json:"cliqueID"`
	Index     int    `json:"index"`
	Status    string `json:"status,omitempty"`
}

// objects are as the API server returned them, of any type.
type objects []*unstructured.Unstructured

// in returns those with this value of the label, which may be "".
func (all objects) in(key, value string) objects {
	return slices.DeleteFunc(slices.Clone(all), func(one *unstructured.Unstructured) bool { return one.GetLabels()[key] != value })
}

// controller keeps nothing from one round to the next.
type controller struct {
	client           dynamic.Interface
	namespace, image string
}

// world is what one round has read.
type world struct {
	nodes, templates, daemonSets objects
	cliques                      []domainClique
	pods                         []corev1.Pod
	domains                      []domain
}

func (c *controller) list(ctx context.Context, from schema.GroupVersionResource, namespace, selector string) (objects, error) {
	found, err := c.client.Resource(from).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", from.Resource, err)
	}
	all := make(objects, len(found.Items))
	for i := range found.Items {
		all[i] = &found.Items[i]
	}
	return all, nil
}

func listAs[T any](ctx context.Context, c *controller, from schema.GroupVersionResource, namespace, selector string) ([]T, error) {
	all, err := c.list(ctx, from, namespace, selector)
	typed := make([]T, len(all))
	for i, one := range all {
		err = errors.Join(err, runtime.DefaultUnstructuredConverter.FromUnstructured(one.Object, &typed[i]))
	}
	return typed, err
}

// read lists pods after cliques: an entry whose pod is missing is stale. It lists domains last, as most writes are of them.
func (c *controller) read(ctx context.Context) (w world, err error) {
	var errs [6]error
	w.nodes, errs[0] = c.list(ctx, nodes, "", label)
	w.templates, errs[1] = c.list(ctx, templates, "", label)
	w.daemonSets, errs[2] = c.list(ctx, daemonSets, c.namespace, label)
	w.cliques, errs[3] = listAs[domainClique](ctx, c, cliques, c.namespace, label)
	w.pods, errs[4] = listAs[corev1.Pod](ctx, c, pods, c.namespace, label)
	w.domains, errs[5] = listAs[domain](ctx, c, domains, "", "")
	return w, errors.Join(errs[:]...)
}

// run serves all domains until the context ends.
func (c *controller) run(ctx context.Context) { wait.UntilWithContext(ctx, c.round, period) }

func (c *controller) round(ctx context.Context) {
	w, err := c.read(ctx)
	if err != nil {
		klog.ErrorS(err, "Cannot read, will retry")
		return
	}
	for i := range w.cliques {
		c.dropStale(ctx, &w.cliques[i], w.pods)
	}
	for i := range w.domains {
		if w.domains[i].DeletionTimestamp != nil {
			c.end(ctx, &w.domains[i], &w)
		} else {
			c.serve(ctx, &w.domains[i], &w)
		}
	}
}

// wrote logs a write. The next round does again what failed.
func wrote(err error, verb string, to schema.GroupVersionResource, object metav1.Object) {
	what := []any{"verb", verb, "resource", to.Resource, "object", klog.KRef(object.GetNamespace(), object.GetName())}
	if err != nil {
		klog.ErrorS(err, "Cannot write, will retry", what...)
	} else {
		klog.InfoS("Wrote", what...)
	}
}

func (c *controller) create(ctx context.Context, to schema.GroupVersionResource, made *unstructured.Unstructured) {
	_, err := c.client.Resource(to).Namespace(made.GetNamespace()).Create(ctx, made, metav1.CreateOptions{})
	wrote(err, "create", to, made)
}

func (c *controller) update(ctx context.Context, to schema.GroupVersionResource, object metav1.Object, subresources ...string) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err == nil {
		_, err = c.client.Resource(to).Namespace(object.GetNamespace()).Update(
			ctx, &unstructured.Unstructured{Object: content}, metav1.UpdateOptions{}, subresources...)
	}
	wrote(err, "update", to, object)
}

// dropStale removes the entries of nodes on which no daemon of any domain runs.
func (c *controller) dropStale(ctx context.Context, one *domainClique, pods []corev1.Pod) {
	before := len(one.Daemons)
	one.Daemons = slices.DeleteFunc(one.Daemons, func(d daemon) bool {
		return !slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return pod.Spec.NodeName == d.Name })
	})
	if len(one.Daemons) < before {
		c.update(ctx, cliques, one)
	}
}

func (c *controller) serve(ctx context.Context, d *domain, w *world) {
	uid := string(d.UID)
	if !slices.Contains(d.Finalizers, finalizer) {
		d.Finalizers = append(d.Finalizers, finalizer)
		c.update(ctx, domains, d) // The next round has its new version.
		return
	}
	own, daemons := w.templates.in(label, uid), "computedomain-daemon-"+uid
	if len(own.in(targetLabel, "Daemon")) == 0 {
		c.create(ctx, templates, object(c.namespace, daemons, claimTemplate, "UID", uid, "TARGET", "Daemon", "REQUEST", "daemon",
			"CLASS", "compute-domain-daemon.nvidia.com", "PARAMETERS", "kind: ComputeDomainDaemonConfig"))
	}
	if len(w.daemonSets.in(label, uid)) == 0 {
		c.create(ctx, daemonSets, object(c.namespace, daemons, daemonSet, "UID", uid, "IMAGE", c.image))
	}
	if channel := d.Spec.Channel; len(own.in(targetLabel, "Workload")) == 0 {
		c.create(ctx, templates, object(d.Namespace, channel.ResourceClaimTemplate.Name, claimTemplate, "UID", uid,
			"TARGET", "Workload", "REQUEST", "channel", "CLASS", "compute-domain-default-channel.nvidia.com",
			"PARAMETERS", "kind: ComputeDomainChannelConfig, allocationMode: "+channel.AllocationMode))
	}
	if members, status := d.mirror(w); status != d.Status.Status || !equal(members, d.Status.Nodes) {
		d.Status.Nodes, d.Status.Status = members, status
		c.update(ctx, domains, d, "status")
	}
}

// mirror returns nodes and status as the cliques say.
func (d *domain) mirror(w *world) (members []member, status string) {
	for _, one := range w.cliques {
		if one.Labels[label] == string(d.UID) {
			for _, entry := range one.Daemons {
				members = append(members, member(entry))
			}
		}
	}
	status = ready
	if len(members) < d.Spec.NumNodes || slices.ContainsFunc(members, func(one member) bool { return one.Status == notReady }) {
		status = notReady
	}
	return members, status
}

// equal returns whether both have the same nodes, in any order.
func equal(a, b []member) bool {
	byName := func(x, y member) int { return strings.Compare(x.Name, y.Name) }
	return slices.Equal(slices.SortedFunc(slices.Values(a), byName), slices.SortedFunc(slices.Values(b), byName))
}

// end takes the next steps of a deletion. Each group of objects must not exist before the next group loses its finalizers.
func (c *controller) end(ctx context.Context, d *domain, w *world) {
	uid := string(d.UID)
	own, sets := w.templates.in(label, uid), w.daemonSets.in(label, uid)
	workload, daemons := own.in(targetLabel, "Workload"), own.in(targetLabel, "Daemon")
	c.remove(ctx, templates, slices.Concat(workload, daemons))
	c.remove(ctx, daemonSets, sets)
	for _, one := range w.nodes.in(label, uid) {
		unstructured.RemoveNestedField(one.Object, "metadata", "labels", label)
		c.update(ctx, nodes, one)
	}
	switch {
	case len(workload) > 0:
		c.release(ctx, templates, workload)
	case len(daemons)+len(sets) > 0:
		c.release(ctx, templates, daemons)
		c.release(ctx, daemonSets, sets)
	default:
		d.Finalizers = slices.DeleteFunc(d.Finalizers, func(one string) bool { return one == finalizer })
		c.update(ctx, domains, d)
	}
}

func (c *controller) remove(ctx context.Context, from schema.GroupVersionResource, all objects) {
	for _, one := range all {
		if one.GetDeletionTimestamp() == nil {
			wrote(c.client.Resource(from).Namespace(one.GetNamespace()).Delete(ctx, one.GetName(), metav1.DeleteOptions{}), "delete", from, one)
		}
	}
}

// release removes the finalizer of objects that are being deleted.
func (c *controller) release(ctx context.Context, from schema.GroupVersionResource, all objects) {
	for _, one := range all {
		if one.GetDeletionTimestamp() != nil && slices.Contains(one.GetFinalizers(), finalizer) {
			one.SetFinalizers(slices.DeleteFunc(one.GetFinalizers(), func(name string) bool { return name == finalizer }))
			c.update(ctx, from, one)
		}
	}
}

// object returns what the text describes, with values in the place of words in capitals.
func object(namespace, name, text string, values ...string) *unstructured.Unstructured {
	var made unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(strings.NewReplacer(values...).Replace(text)), &made.Object); err != nil {
		panic(err)
	}
	made.SetNamespace(namespace)
	made.SetName(name)
	made.SetFinalizers([]string{finalizer})
	return &made
}

const claimTemplate = `
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata:
  labels: {resource.nvidia.com/computeDomain: UID, resource.nvidia.com/computeDomainTarget: TARGET}
spec:
  spec:
    devices:
      requests: [{name: REQUEST, exactly: {deviceClassName: CLASS}}]
      config: [{requests: [REQUEST], opaque: {driver: compute-domain.nvidia.com, parameters: {
        apiVersion: resource.nvidia.com/v1beta1, domainID: UID, PARAMETERS}}}]
`

// Without the variables and probes of a container that nothing here runs.
const daemonSet = `
apiVersion: apps/v1
kind: DaemonSet
metadata: {labels: {resource.nvidia.com/computeDomain: UID}}
spec:
  selector: {matchLabels: {resource.nvidia.com/computeDomain: UID}}
  template:
    metadata: {labels: {resource.nvidia.com/computeDomain: UID}}
    spec:
      serviceAccountName: compute-domain-daemon-service-account
      nodeSelector: {resource.nvidia.com/computeDomain: UID}
      tolerations: [{operator: Exists, effect: NoSchedule}, {operator: Exists, effect: NoExecute},
                    {operator: Exists, effect: PreferNoSchedule}]
      resourceClaims: [{name: compute-domain-daemon, resourceClaimTemplateName: computedomain-daemon-UID}]
      containers:
      - name: compute-domain-daemon
        image: IMAGE
        command: [compute-domain-daemon, -v, $(LOG_VERBOSITY), run]
        env: [{name: LOG_VERBOSITY, value: "4"}, {name: MAX_NODES_PER_IMEX_DOMAIN, value: "18"}]
        resources: {claims: [{name: compute-domain-daemon}]}
`

func setting(name, otherwise string) string {
	if value, isSet := os.LookupEnv(name); isSet {
		return value
	}
	return otherwise
}

func must[T any](value T, err error) T {
	if err != nil {
		klog.ErrorS(err, "Cannot start")
		klog.FlushAndExit(klog.ExitFlushTimeout, 1)
	}
	return value
}

// elect runs the controller while it holds the Lease. Returns when the Lease is lost, or released.
func elect(ctx context.Context, config *rest.Config, c *controller) {
	const prefix = "LEADER_ELECTION_"
	duration := func(name, otherwise string) time.Duration {
		return must(time.ParseDuration(setting(prefix+name, otherwise)))
	}
	lock := &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{
			Name:      setting(prefix+"LEASE_LOCK_NAME", "nvidia-compute-domain-controller"),
			Namespace: setting(prefix+"LEASE_LOCK_NAMESPACE", "default"),
		},
		Client:     coordination.NewForConfigOrDie(config),
		LockConfig: resourcelock.ResourceLockConfig{Identity: os.Getenv("POD_NAME") + "-" + string(uuid.NewUUID())},
	}
	elector := must(leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, ReleaseOnCancel: true,
		LeaseDuration: duration("LEASE_DURATION", "15s"),
		RenewDeadline: duration("RENEW_DEADLINE", "10s"),
		RetryPeriod:   duration("RETRY_PERIOD", "2s"),
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				klog.InfoS("Leading", "identity", lock.Identity())
				c.run(ctx)
			},
			OnStoppedLeading: func() { klog.InfoS("Not leading any more", "identity", lock.Identity()) },
		},
	}))
	elector.Run(ctx)
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "`FILE` with the API server and credentials")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	config := must(clientcmd.BuildConfigFromFlags("", *kubeconfig))
	unlimited := rest.CopyConfig(config)
	unlimited.QPS = -1 // It reads more often than a program that watches.
	c := &controller{client: dynamic.NewForConfigOrDie(unlimited), namespace: setting("NAMESPACE", "default"), image: os.Getenv("IMAGE_NAME")}
	if must(strconv.ParseBool(setting("LEADER_ELECTION_ENABLED", "false"))) {
		elect(ctx, config, c)
	} else {
		klog.InfoS("Acting without election")
		c.run(ctx)
	}
	klog.Flush()
}
