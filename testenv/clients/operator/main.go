// Command operator is a small operator as people write them with controller-runtime: a Website
// becomes a ConfigMap, a Service and a Deployment, by server-side apply; its status says how many
// replicas are ready; a finalizer leaves a farewell behind; webhooks label Websites and refuse
// some. Several may run, one leads. It knows nothing of spaces: scenarios point it at one by its
// kubeconfig.
package main

import (
	"flag"
	"log/slog"
	"os"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func main() {
	namespace := flag.String("lease-namespace", "default", "the namespace of the lease that instances lead by")
	address := flag.String("webhooks", "", "HOST:PORT at which it serves webhooks, with a certificate that it leaves "+
		"in ./certificate; empty for none")
	flag.Parse()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	ctrl.SetLogger(logr.FromSlogHandler(log.Handler()))
	if err := run(*namespace, *address); err != nil {
		log.Error("the operator ends", "err", err)
		os.Exit(1)
	}
}

func run(namespace, address string) error {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	addToScheme(scheme)
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	lease, renew, retry := 4*time.Second, 3*time.Second, time.Second
	options := ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		LeaderElection: true, LeaderElectionID: "website-operator", LeaderElectionNamespace: namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &lease, RenewDeadline: &renew, RetryPeriod: &retry,
	}
	if address != "" {
		if options.WebhookServer, err = webhookServer(address, "certificate"); err != nil {
			return err
		}
	}
	m, err := ctrl.NewManager(config, options)
	if err != nil {
		return err
	}
	if address != "" {
		if err := serveWebhooks(m); err != nil {
			return err
		}
	}
	if err := (&reconciler{client: m.GetClient(), events: m.GetEventRecorder("website-operator")}).setUp(m); err != nil {
		return err
	}
	return m.Start(ctrl.SetupSignalHandler())
}
