package server_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/store/storetest"
)

// A center whose disk is full answers writes with 507 and what to do, is not ready, and goes on
// when there is space again.
func TestACenterWithAFullDisk(t *testing.T) {
	dir := storetest.SmallDisk(t, "24m")
	c := start(t, dir, newAuthority(t), nil)
	api := clients(t, c.admin("root"))
	maps := api.CoreV1().ConfigMaps("default")
	ready := func() error {
		_, err := api.RESTClient().Get().AbsPath("/readyz").DoRaw(t.Context())
		return err
	}
	within(t, time.Minute, "ready", func() bool { return ready() == nil })
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 64<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	large := strings.Repeat("x", 256<<10)
	var refused error
	for i := 0; i < 40 && refused == nil; i++ { // there may be room in what the log has already
		_, refused = maps.Create(
			t.Context(),
			&corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("m%d", i)},
				Data:       map[string]string{"x": large},
			},
			metav1.CreateOptions{},
		)
	}
	var status apierrors.APIStatus
	if !errors.As(refused, &status) || status.Status().Code != http.StatusInsufficientStorage ||
		!strings.Contains(refused.Error(), "the center's disk is full") ||
		!strings.Contains(refused.Error(), dir) {
		t.Errorf("refused with %v", refused)
	}
	if err := ready(); err == nil {
		t.Error("the center is ready")
	}
	if _, err := maps.List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("what is there is not read: %v", err)
	}
	must(t, os.Remove(ballast))
	within(t, time.Minute, "writes with space again", func() bool {
		_, err := maps.Create(
			t.Context(),
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "again"}},
			metav1.CreateOptions{},
		)
		return err == nil || apierrors.IsAlreadyExists(err)
	})
	if err := ready(); err != nil {
		t.Errorf("not ready with space again: %v", err)
	}
}
