// Command certs runs cert-manager's own controllers, unmodified: issuers that sign themselves or
// with a CA, and certificates. Their command line is in a module that cannot be fetched, so this is
// all that is ours. It takes the path of a kubeconfig.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/cert-manager/cert-manager/pkg/controller"
	"github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/approver"
	"github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/ca"
	"github.com/cert-manager/cert-manager/pkg/controller/certificaterequests/selfsigned"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/issuing"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/keymanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/readiness"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/requestmanager"
	"github.com/cert-manager/cert-manager/pkg/controller/certificates/trigger"
	"github.com/cert-manager/cert-manager/pkg/controller/issuers"
	_ "github.com/cert-manager/cert-manager/pkg/issuer/ca"         // registers the issuer
	_ "github.com/cert-manager/cert-manager/pkg/issuer/selfsigned" // registers the issuer
)

// controllers are those that run, by the names under which they have registered themselves.
var controllers = []string{approver.ControllerName, ca.CRControllerName, selfsigned.CRControllerName,
	issuing.ControllerName, keymanager.ControllerName,
	readiness.ControllerName, requestmanager.ControllerName, trigger.ControllerName, issuers.ControllerName}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: certs KUBECONFIG")
		os.Exit(2)
	}
	if err := run(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig string) error {
	f, err := controller.NewContextFactory(ctx, controller.ContextOptions{
		Kubeconfig: kubeconfig, KubernetesAPIQPS: 50, KubernetesAPIBurst: 100,
		IssuerOptions:    controller.IssuerOptions{ClusterResourceNamespace: "cert-manager"},
		SchedulerOptions: controller.SchedulerOptions{MaxConcurrentChallenges: 1},
	})
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	all, err := f.Build()
	if err != nil {
		return fmt.Errorf("build: %w", err)
	}
	var running sync.WaitGroup
	defer running.Wait()
	for _, name := range controllers {
		c, err := controller.Known()[name](f)
		if err != nil {
			return fmt.Errorf("controller %s: %w", name, err)
		}
		running.Go(func() {
			if err := c.Run(2, ctx); err != nil && ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, name, err)
			}
		})
	}
	all.SharedInformerFactory.Start(ctx.Done())
	all.KubeSharedInformerFactory.Start(ctx.Done())
	return nil
}
