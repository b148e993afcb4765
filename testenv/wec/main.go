// Command wec (workload-execution cluster) is the Kubernetes of the test
// environment: the upstream components, kubectl, kine and kwok, all at one
// version, in one binary that is built once and kept.
//
// Called by the name of a component, or with it as the first argument, it is
// that component with its usual flags. "wec server FILE" runs a whole control
// plane in one process instead. It is started by the testenv command and knows
// nothing of networks, namespaces or Skerry.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// components maps the name of each tool to what runs it with os.Args and
// returns the exit code.
var components = map[string]func() int{
	"kube-apiserver": component(apiserver.NewAPIServerCommand),
	"kubelet":        component(func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) }),
	"kube-proxy":     component(proxy.NewProxyCommand),
	"kubectl":        runKubectl,
	"server":         runServer,
}

func component(build func() *cobra.Command) func() int {
	return func() int { return cli.Run(build()) }
}

func runKubectl() int {
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
	return 0
}

func main() {
	name := filepath.Base(os.Args[0])
	if _, ok := components[name]; !ok && len(os.Args) > 1 {
		os.Args = os.Args[1:]
		name = os.Args[0]
	}
	run, ok := components[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "wec: no component %q; there are: %s\n", name, strings.Join(names(), ", "))
		os.Exit(2)
	}
	os.Exit(run())
}

func names() []string {
	var all []string
	for name := range components {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}
