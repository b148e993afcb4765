package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kmsv2 "k8s.io/apiserver/pkg/storage/value/encrypt/envelope/testing/v2"
	"k8s.io/client-go/kubernetes"

	"skerry.dev/skerry/server"
	"skerry.dev/skerry/server/admin"
	"skerry.dev/skerry/server/apiserver/encryption"
	"skerry.dev/skerry/store/kine"
)

const (
	hidden = "canary-in-a-secret"
	// control is what a scan has to find, so that it would have found the other one.
	control = "canary-in-a-configmap"
)

// atRest is a center that is started again and again on one data directory.
type atRest struct {
	t    *testing.T
	dir  string
	more func(*server.Config)
}

func (a *atRest) config() server.Config {
	c := server.Config{DataDir: a.dir, Listen: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler)}
	if a.more != nil {
		a.more(&c)
	}
	return c
}

// run runs the center while do works with it.
func (a *atRest) run(do func(s *server.Server, secrets *kubernetes.Clientset)) {
	a.t.Helper()
	s, err := server.New(a.config())
	must(a.t, err)
	ctx, cancel := context.WithCancel(a.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	select {
	case <-s.Ready():
		do(s, clients(a.t, s.Loopback("root")))
	case err := <-ended:
		cancel()
		a.t.Fatal(err)
	}
	cancel()
	check(a.t, <-ended)
}

// refused starts the center, which has to refuse in words.
func (a *atRest) refused(words ...string) {
	a.t.Helper()
	s, err := server.New(a.config())
	if err == nil {
		ctx, cancel := context.WithCancel(a.t.Context())
		cancel()
		_ = s.Run(ctx)
	}
	if !errors.Is(err, encryption.ErrKey) {
		a.t.Errorf("the start: %v", err)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			a.t.Errorf("%q does not say %q", err, w)
		}
	}
}

// holds reports whether a file of the data directory holds a text.
func (a *atRest) holds(text string) (in []string) {
	a.t.Helper()
	must(a.t, filepath.WalkDir(a.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(text)) {
			in = append(in, filepath.Base(path))
		}
		return err
	}))
	return in
}

// stored counts the stored Secrets by what has encrypted them.
func (a *atRest) stored() map[string]int {
	a.t.Helper()
	st, err := kine.Open(a.t.Context(), kine.Config{Dir: a.dir})
	must(a.t, err)
	defer st.Close()
	got, err := st.Client().Client.Get(a.t.Context(), "/registry/secrets/", clientv3.WithRange("/registry/secrets0"))
	must(a.t, err)
	out := map[string]int{}
	for _, kv := range got.Kvs {
		id := string(
			bytes.Join(
				bytes.SplitN(kv.Value, []byte(":"), 6)[:min(5, bytes.Count(kv.Value, []byte(":"))+1)],
				[]byte(":"),
			),
		)
		if !bytes.HasPrefix(kv.Value, []byte("k8s:enc:")) {
			id = "unencrypted"
		}
		out[id]++
	}
	return out
}

func (a *atRest) keys() []byte {
	a.t.Helper()
	data, err := os.ReadFile(a.keyFile())
	must(a.t, err)
	return data
}

func (a *atRest) keyFile() string { return filepath.Join(a.dir, "pki", encryption.FileName) }

const manySecrets = 120

func writeSecrets(t *testing.T, c *kubernetes.Clientset) {
	for i := range manySecrets {
		_, err := c.CoreV1().Secrets(
			"default",
		).Create(
			t.Context(),
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("s-", i)},
				StringData: map[string]string{"a": fmt.Sprint(hidden, i)}},
			metav1.CreateOptions{},
		)
		must(t, err)
	}
	_, err := c.CoreV1().ConfigMaps(
		"default",
	).Create(
		t.Context(),
		configMap("control", map[string]string{"a": control}),
		metav1.CreateOptions{},
	)
	must(t, err)
}

func readSecrets(t *testing.T, c *kubernetes.Clientset) {
	t.Helper()
	all, err := c.CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{})
	must(t, err)
	if len(all.Items) != manySecrets {
		t.Errorf("%d Secrets", len(all.Items))
	}
	for _, s := range all.Items {
		if got := string(s.Data["a"]); got != hidden+strings.TrimPrefix(s.Name, "s-") {
			t.Errorf("%s holds %q", s.Name, got)
		}
	}
}

func rotateKey(t *testing.T, s *server.Server) string {
	t.Helper()
	out := &bytes.Buffer{}
	must(
		t,
		admin.RotateEncryptionKey(
			t.Context(),
			admin.RotateKeyOptions{Kubeconfig: s.AdminKubeconfig(), Wait: time.Minute, Out: out},
		),
	)
	return out.String()
}

// TestSecretsAtRest: Secrets are encrypted in the datastore; without the key nothing is served and
// nothing is lost; a rotation leaves nothing that the old key has encrypted.
func TestSecretsAtRest(t *testing.T) {
	a := &atRest{t: t, dir: t.TempDir()}
	a.run(func(_ *server.Server, c *kubernetes.Clientset) { writeSecrets(t, c) })
	if in := a.holds(control); len(in) == 0 {
		t.Error("the scan finds nothing")
	}
	if in := a.holds(hidden); len(in) > 0 {
		t.Errorf("a Secret is readable in %v", in)
	}
	if info, err := os.Stat(a.keyFile()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key file: %v, %v", info, err)
	}
	first, before := a.keys(), a.stored()
	if len(before) != 1 || before["unencrypted"] > 0 {
		t.Errorf("stored: %v", before)
	}

	// Another key, or none, refuses in words.
	must(t, os.WriteFile(a.keyFile(), []byte("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"), 0o600))
	a.refused("k8s:enc:secretbox:v1:", "put the key", "nothing was changed")
	must(t, os.Remove(a.keyFile()))
	a.refused("put the key")
	if missing, err := server.CheckEncryption(t.Context(), a.dir, "", ""); !missing || err == nil {
		t.Errorf("without its key: missing is %v: %v", missing, err)
	}
	if _, err := os.Stat(a.keyFile()); !errors.Is(err, os.ErrNotExist) {
		t.Error("a new key was made over encrypted data")
	}
	must(t, os.WriteFile(a.keyFile(), first, 0o600))
	if missing, err := server.CheckEncryption(t.Context(), a.dir, "", ""); missing || err != nil {
		t.Errorf("with its key: missing is %v: %v", missing, err)
	}
	a.run(func(s *server.Server, c *kubernetes.Clientset) {
		readSecrets(t, c)
		t.Log(rotateKey(t, s))
		readSecrets(t, c)
	})
	after := a.stored()
	if len(after) != 1 || after["unencrypted"] > 0 {
		t.Errorf("stored after the rotation: %v", after)
	}
	for id := range after {
		if before[id] > 0 {
			t.Errorf("%s encrypts before and after the rotation", id)
		}
	}
	if bytes.Equal(a.keys(), first) || bytes.Count(a.keys(), []byte("\n")) != bytes.Count(first, []byte("\n")) {
		t.Errorf("the key file holds the old key or more than one")
	}
	a.run(func(_ *server.Server, c *kubernetes.Clientset) { readSecrets(t, c) })
	must(t, os.WriteFile(a.keyFile(), first, 0o600))
	a.refused("put the key")
}

// TestSecretsWithKMS moves a center from its key file to a KMS.
func TestSecretsWithKMS(t *testing.T) {
	a := &atRest{t: t, dir: t.TempDir()}
	a.run(func(_ *server.Server, c *kubernetes.Clientset) { writeSecrets(t, c) })
	socket := filepath.Join(t.TempDir(), "kms.sock")
	plugin := kmsv2.NewBase64Plugin(t, socket)
	config := filepath.Join(t.TempDir(), "encryption.yaml")
	write := func(resource string) {
		must(
			t,
			os.WriteFile(
				config,
				fmt.Appendf(nil, "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n"+
					`- {resources: [%s], providers: [{kms: {apiVersion: v2, name: vault, endpoint: "unix://%s", timeout: 3s}}, {identity: {}}]}`, resource, socket),
				0o600,
			),
		)
	}
	a.more = func(c *server.Config) { c.EncryptionProviderConfig = config }
	write("clusterroles.rbac.authorization.k8s.io")
	if _, err := server.New(a.config()); !errors.Is(err, encryption.ErrResource) {
		t.Errorf("a resource that the center reads as it is stored: %v", err)
	}
	write("secrets, configmaps")
	a.run(func(s *server.Server, c *kubernetes.Clientset) {
		readSecrets(t, c)
		t.Log(rotateKey(t, s))
		readSecrets(t, c)
	})
	if got := a.stored(); got["k8s:enc:kms:v2:vault"] == 0 || len(got) != 1 {
		t.Errorf("stored: %v", got)
	}
	a.more = nil
	a.refused("k8s:enc:kms:v2:vault", "--encryption-provider-config")
	a.more = func(c *server.Config) { c.EncryptionProviderConfig = config }
	must(t, os.Remove(a.keyFile()))
	a.run(func(_ *server.Server, c *kubernetes.Clientset) { readSecrets(t, c) })
	plugin.EnterFailedState()
	a.refused("k8s:enc:kms:v2:vault")
}
