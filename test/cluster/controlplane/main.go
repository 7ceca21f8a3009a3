// One program that is etcd, kube-apiserver, kube-controller-manager, kube-scheduler or kubelet, by the name it is
// called with. One binary links the shared Kubernetes code once: 142 MB instead of five times that.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	_ "time/tzdata" // A CronJob may name any time zone, also where the machine has no database of them.

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	servers := map[string]func() *cobra.Command{
		"kube-apiserver":          apiserver.NewAPIServerCommand,
		"kube-controller-manager": controllermanager.NewControllerManagerCommand,
		"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
		"kubelet":                 func() *cobra.Command { return newKubelet(kubelet.NewKubeletCommand) },
	}
	name := filepath.Base(os.Args[0])
	switch {
	case name == "etcd":
		etcdmain.Main(os.Args)
	case servers[name] != nil:
		os.Exit(cli.Run(servers[name]()))
	default:
		fmt.Fprintf(os.Stderr, "%s: call this program as etcd, kube-apiserver, kube-controller-manager, kube-scheduler or kubelet\n", name)
		os.Exit(2)
	}
}

// newKubelet calls the function that makes the kubelet's command. Since Kubernetes 1.34 it takes a context.
func newKubelet(make any) *cobra.Command {
	switch make := make.(type) {
	case func(context.Context) *cobra.Command:
		return make(context.Background())
	case func() *cobra.Command:
		return make()
	}
	panic(fmt.Sprintf("the kubelet's command is made by a %T", make))
}
