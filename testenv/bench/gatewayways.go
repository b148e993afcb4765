package bench

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"skerry.dev/skerry/testenv/drive"
	"skerry.dev/skerry/testenv/pki"
)

// gatewayWays is a real cluster with an agent, and a space that has controllers there. A controller
// reaches the API of its space through the gateway of the agent, over a link to the center; the
// floor reaches the center itself, over a link as long.
type gatewayWays struct {
	// near is the space's API without a link, through has the controller's requests, direct the
	// floor's.
	near, through, direct *drive.Kube
	link, directLink      *link
	watched               streamWays
	// controllers are kubeconfigs of ServiceAccounts, through the gateway.
	controllers []string
	authority   *pki.Authority
}

const (
	gatewayNS       = "gateway"
	gatewayAccounts = 2
)

func (b *bench) startGateway(ctx context.Context) (*gatewayWays, error) {
	w := &gatewayWays{}
	kubeconfig, site, err := b.realCluster(ctx)
	if err != nil {
		return nil, err
	}
	w.watched.kubeconfigFile = kubeconfig
	b.say("start a center, and an agent behind a link")
	free, err := drive.FreeAddress()
	if err != nil {
		return nil, err
	}
	args := append(address(free).args(), "--webhook-allow-cidr", "127.0.0.0/8")
	if b.center, err = b.StartCenter(ctx, "center", "", args...); err != nil {
		return nil, err
	}
	b.stop = append(b.stop, b.center.Stop)
	w.watched.watched = append(w.watched.watched, &watched{"center", b.center.Process, address(free)})
	for _, l := range []**link{&w.link, &w.directLink} {
		if *l, err = newLink(b.center.Address); err != nil {
			return nil, err
		}
		b.stop = append(b.stop, (*l).Close)
	}
	if err := b.watchAgent(ctx, &w.watched, "near", b.center, w.link.Address); err != nil {
		return nil, err
	}
	if _, err := b.Run(ctx, b.Skerry, "space", "create", space, "--kubeconfig", b.center.Kubeconfig); err != nil {
		return nil, err
	}
	if err := b.openSpace(ctx, w); err != nil {
		return nil, err
	}
	if err := b.controllers(ctx, w, site); err != nil {
		return nil, err
	}
	w.through, err = drive.OpenKube(w.controllers[0])
	return w, err
}

// openSpace opens the space's API without a link, and over one.
func (b *bench) openSpace(ctx context.Context, w *gatewayWays) error {
	config, err := b.SpaceKubeconfig(ctx, b.center, space)
	if err != nil {
		return err
	}
	if w.near, err = drive.OpenKube(config); err != nil {
		return err
	}
	text, err := os.ReadFile(config)
	if err != nil {
		return err
	}
	path := filepath.Join(b.Dir, "direct.kubeconfig")
	changed := strings.ReplaceAll(string(text), b.center.Address, w.directLink.Address)
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		return err
	}
	w.direct, err = drive.OpenKube(path)
	return err
}

// controllers makes ServiceAccounts with rights in the space, and workloads that run as them: their
// site then keeps what their pods need to reach the API. The pods are not needed.
func (b *bench) controllers(ctx context.Context, w *gatewayWays, site *drive.Kube) error {
	b.say("place workloads whose pods use the API of the space")
	if err := w.near.Create(ctx, "/api/v1/namespaces", object{"metadata": object{"name": gatewayNS}}); err != nil {
		return err
	}
	for i := range gatewayAccounts {
		name := fmt.Sprintf("controller-%d", i)
		labels := object{"app": name}
		for _, made := range []struct {
			path string
			obj  object
		}{
			{"/api/v1/namespaces/" + gatewayNS + "/serviceaccounts", object{"metadata": object{"name": name}}},
			{"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", object{
				"metadata": object{"name": name},
				"roleRef":  object{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
				"subjects": []any{object{"kind": "ServiceAccount", "namespace": gatewayNS, "name": name}},
			}},
			{deployments(gatewayNS), object{"metadata": object{"name": name}, "spec": object{
				"replicas": 0, "selector": object{"matchLabels": labels},
				"template": object{"metadata": object{"labels": labels}, "spec": object{
					"serviceAccountName": name,
					"containers":         []any{object{"name": "controller", "image": "localhost/skerry-testenv/app:1"}},
				}},
			}}},
		} {
			if err := w.near.Create(ctx, made.path, made.obj); err != nil {
				return fmt.Errorf("make %s: %w", made.path, err)
			}
		}
		path, err := b.gatewayConfig(ctx, site, name)
		if err != nil {
			return err
		}
		w.controllers = append(w.controllers, path)
	}
	return nil
}

// gatewayConfig writes a kubeconfig of what the pods of a ServiceAccount have, with the address of
// the gateway itself in place of its Service's, which leads there from pods alone.
func (b *bench) gatewayConfig(ctx context.Context, site *drive.Kube, account string) (string, error) {
	var secret struct {
		Data map[string][]byte `json:"data"`
	}
	var config struct {
		Data map[string]string `json:"data"`
	}
	var slices struct {
		Items []struct {
			Endpoints []struct {
				Addresses []string `json:"addresses"`
			} `json:"endpoints"`
			Ports []struct {
				Port int `json:"port"`
			} `json:"ports"`
		} `json:"items"`
	}
	of := "/api/v1/namespaces/" + gatewayNS
	err := drive.Until(ctx, time.Minute, "the site keeps what pods of "+account+" need", func(ctx context.Context) error {
		for path, into := range map[string]any{
			of + "/secrets/skerry-space-api-" + account:                       &secret,
			of + "/configmaps/skerry-space-api":                               &config,
			"/apis/discovery.k8s.io/v1/namespaces/skerry-near/endpointslices": &slices,
		} {
			text, err := site.Do(ctx, http.MethodGet, path, "", nil)
			if err != nil {
				return err
			}
			if err := json.Unmarshal(text, into); err != nil {
				return err
			}
		}
		if len(slices.Items) == 0 || len(slices.Items[0].Endpoints) == 0 || len(slices.Items[0].Ports) == 0 {
			return fmt.Errorf("the gateway has no endpoint")
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	at := slices.Items[0]
	server := net.JoinHostPort(at.Endpoints[0].Addresses[0], fmt.Sprint(at.Ports[0].Port))
	text, err := json.Marshal(object{
		"clusters": []any{object{"name": "space", "cluster": object{
			"server":                     "https://" + server,
			"certificate-authority-data": secret.Data["ca.crt"], "tls-server-name": config.Data["host"],
		}}},
		"users": []any{object{"name": account, "user": object{"token": string(secret.Data["token"])}}},
	})
	if err != nil {
		return "", err
	}
	path := filepath.Join(b.Dir, account+".kubeconfig")
	return path, os.WriteFile(path, text, 0o600)
}

// hookPods runs a webhook at the site, and the same answer on this machine; the certificate is good
// for both.
func (b *bench) hookPods(ctx context.Context, w *gatewayWays) (url string, err error) {
	b.say("start a webhook at the site, and one beside the center")
	dir := filepath.Join(b.Dir, "hook")
	if w.authority, err = pki.New(dir, "bench"); err != nil {
		return "", err
	}
	if err := w.authority.Issue("hook", "hook", nil, "hook."+gatewayNS+".svc", "127.0.0.1"); err != nil {
		return "", err
	}
	files := map[string][]byte{}
	for key, name := range map[string]string{"tls.crt": "hook.crt", "tls.key": "hook.key"} {
		if files[key], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			return "", err
		}
	}
	labels := object{"app": "hook"}
	for _, made := range []struct {
		path string
		obj  object
	}{
		{"/api/v1/namespaces/" + gatewayNS + "/secrets", object{
			"metadata": object{"name": "hook"}, "data": files,
		}},
		{deployments(gatewayNS), object{"metadata": object{"name": "hook"}, "spec": object{
			"selector": object{"matchLabels": labels},
			"template": object{"metadata": object{"labels": labels}, "spec": object{
				"terminationGracePeriodSeconds": 1,
				"containers": []any{object{
					"name": "hook", "image": "localhost/skerry-testenv/app:1", "args": []string{"hook"},
					"ports":          []any{object{"name": "https", "containerPort": 8443}},
					"readinessProbe": object{"tcpSocket": object{"port": "https"}, "periodSeconds": 1},
					"volumeMounts":   []any{object{"name": "certificate", "mountPath": "/certificate"}},
				}},
				"volumes": []any{object{"name": "certificate", "secret": object{"secretName": "hook"}}},
			}},
		}}},
		{"/api/v1/namespaces/" + gatewayNS + "/services", object{"metadata": object{"name": "hook"}, "spec": object{
			"selector": labels, "ports": []any{object{"port": 443, "targetPort": "https"}},
		}}},
	} {
		if err := w.near.Create(ctx, made.path, made.obj); err != nil {
			return "", fmt.Errorf("make %s: %w", made.path, err)
		}
	}
	pair, err := tls.X509KeyPair(files["tls.crt"], files["tls.key"])
	if err != nil {
		return "", err
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}})
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: http.HandlerFunc(allow), ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Serve(l) }()
	b.stop = append(b.stop, func() { server.Close(); <-ended })
	return "https://" + l.Addr().String() + "/validate", nil
}

// allow answers an AdmissionReview as the webhook of the test image does.
func allow(w http.ResponseWriter, r *http.Request) {
	var review struct {
		Request struct {
			UID    string `json:"uid"`
			Object object `json:"object"`
		} `json:"request"`
	}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_ = json.NewEncoder(w).Encode(object{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
		"response": object{"uid": review.Request.UID, "allowed": true}})
}
