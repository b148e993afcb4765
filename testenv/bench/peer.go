package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"skerry.dev/skerry/testenv/drive"
	"skerry.dev/skerry/testenv/pki"
)

// peer is what a center is compared with: an upstream API server, storing in an etcd that syncs to
// disk as it does by default.
type peer struct {
	kube *drive.Kube
	etcd *drive.Process
	api  *drive.Process
}

func (b *bench) startPeer(ctx context.Context) (_ *peer, err error) {
	dir := filepath.Join(b.Dir, "peer")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	var addresses [3]string
	for i := range addresses {
		if addresses[i], err = drive.FreeAddress(); err != nil {
			return nil, err
		}
	}
	clients, peers, serving := "http://"+addresses[0], "http://"+addresses[1], addresses[2]
	p := &peer{}
	defer func() {
		if err != nil {
			p.stop()
		}
	}()
	if p.etcd, err = drive.Start(dir, "etcd", nil, b.etcd, "--data-dir="+filepath.Join(dir, "etcd"),
		"--log-level=error", "--name=peer",
		"--listen-client-urls="+clients, "--advertise-client-urls="+clients,
		"--listen-peer-urls="+peers, "--initial-advertise-peer-urls="+peers, "--initial-cluster=peer="+peers); err != nil {
		return nil, err
	}
	config, flags, err := peerFiles(dir, serving)
	if err != nil {
		return nil, err
	}
	if p.api, err = drive.Start(dir, "kube-apiserver", nil, filepath.Join(filepath.Dir(b.Kubectl), "kube-apiserver"),
		append(flags, "--etcd-servers="+clients)...); err != nil {
		return nil, err
	}
	if p.kube, err = drive.OpenKube(config); err != nil {
		return nil, err
	}
	err = drive.Until(ctx, time.Minute, "the upstream API server is ready", func(ctx context.Context) error {
		select {
		case <-p.api.Exited():
			return fmt.Errorf("%w: %s", drive.ErrExited, drive.Tail(p.api.Log, 5))
		case <-p.etcd.Exited():
			return fmt.Errorf("%w: %s", drive.ErrExited, drive.Tail(p.etcd.Log, 5))
		default:
		}
		_, err := p.kube.Do(ctx, "GET", "/readyz", "", nil)
		return err
	})
	return p, err
}

// peerFiles writes the keys of an upstream API server and its administrator's kubeconfig, and
// returns that and the flags to serve with.
func peerFiles(dir, address string) (config string, flags []string, err error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", nil, err
	}
	keys := filepath.Join(dir, "pki")
	ca, err := pki.New(keys, "peer-ca")
	if err != nil {
		return "", nil, err
	}
	if err := errors.Join(ca.Issue("apiserver", "kube-apiserver", nil, host), ca.WriteKey("service-account"),
		ca.Issue("admin", "admin", []string{"system:masters"})); err != nil {
		return "", nil, err
	}
	file := func(name string) string { return filepath.Join(keys, name) }
	// An administrator by certificate, as the one of a center is: how a caller is recognized costs
	// time with every request.
	config = filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(config, fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: peer, cluster: {server: "https://%s", certificate-authority: %q}}]
users: [{name: admin, user: {client-certificate: %q, client-key: %q}}]
`, address, file("ca.crt"), file("admin.crt"), file("admin.key")), 0o600); err != nil {
		return "", nil, err
	}
	return config, []string{
		"--secure-port=" + port, "--bind-address=" + host, "--advertise-address=" + host, "--endpoint-reconciler-type=none",
		"--tls-cert-file=" + file("apiserver.crt"), "--tls-private-key-file=" + file("apiserver.key"),
		"--client-ca-file=" + file("ca.crt"),
		"--service-account-key-file=" + file("service-account.key"),
		"--service-account-signing-key-file=" + file("service-account.key"),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local", "--service-cluster-ip-range=10.96.0.0/16",
		"--authorization-mode=RBAC", "--profiling=false",
	}, nil
}

func (p *peer) stop() {
	for _, process := range []*drive.Process{p.api, p.etcd} {
		if process != nil {
			process.Stop()
		}
	}
}
