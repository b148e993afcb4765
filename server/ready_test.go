package server_test

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server"
	"skerry.dev/skerry/tunnel/tunneltest"
)

// TestReadyMeansReady asks a center that starts as often as it can: the first time that /readyz
// says ok, root can be worked in.
func TestReadyMeansReady(t *testing.T) {
	address := tunneltest.AnyPort()
	s, err := server.New(server.Config{DataDir: t.TempDir(), Listen: address, Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	within(t, time.Minute, "ready", func() bool {
		resp, err := client.Get("https://" + address + "/readyz")
		if err != nil {
			return false
		}
		check(t, resp.Body.Close())
		return resp.StatusCode == http.StatusOK
	})
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}}
	_, err = clients(
		t,
		s.Loopback("root"),
	).CoreV1().Secrets(
		"kube-system",
	).Create(
		t.Context(),
		secret,
		metav1.CreateOptions{},
	)
	check(t, err)
	if !closed(s.Ready()) {
		t.Error("/readyz is ok before the center is ready")
	}
	client.CloseIdleConnections()
	cancel()
	check(t, <-ended)
}
