package main

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"k8s.io/client-go/util/cert"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// guard is what the operator says to Websites before they are written.
type guard struct{}

// Default labels a Website.
func (guard) Default(_ context.Context, w *website) error {
	if w.Labels == nil {
		w.Labels = map[string]string{}
	}
	w.Labels["example.com/guarded"] = "true"
	return nil
}

// ValidateCreate refuses a text, and warns of a Website that serves nobody.
func (guard) ValidateCreate(_ context.Context, w *website) (admission.Warnings, error) {
	if w.Spec.Text == "buy now" {
		return nil, errors.New("spec.text: no advertisements")
	}
	if w.Spec.Replicas == 0 {
		return admission.Warnings{"spec.replicas: nobody will serve it"}, nil
	}
	return nil, nil
}

// ValidateUpdate is ValidateCreate.
func (g guard) ValidateUpdate(ctx context.Context, _, w *website) (admission.Warnings, error) {
	return g.ValidateCreate(ctx, w)
}

// ValidateDelete lets everything go.
func (guard) ValidateDelete(context.Context, *website) (admission.Warnings, error) { return nil, nil }

// webhookServer serves at an address, with a certificate of its own that it leaves in a directory
// for whoever registers it.
func webhookServer(address, dir string) (webhook.Server, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	crt, key, err := cert.GenerateSelfSignedCertKey(host, []net.IP{net.ParseIP(host)}, nil)
	if err != nil {
		return nil, err
	}
	err = errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "tls.crt"), crt, 0o600),
		os.WriteFile(filepath.Join(dir, "tls.key"), key, 0o600))
	return webhook.NewServer(webhook.Options{Host: host, Port: number, CertDir: dir}), err
}

// serveWebhooks registers the guard with the manager's server.
func serveWebhooks(m ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(m, &website{}).WithDefaulter(guard{}).WithValidator(guard{}).Complete()
}
