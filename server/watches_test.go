package server_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	apirequest "skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/store/storetest"
)

// unread opens a watch and reads nothing of it but the status, which it returns with the
// connection.
func unread(t *testing.T, c *center, cert tls.Certificate, path string) (net.Conn, int) {
	t.Helper()
	raw, err := net.Dial("tcp", strings.TrimPrefix(c.url, "https://"))
	must(t, err)
	t.Cleanup(func() { raw.Close() })
	must(t, raw.(*net.TCPConn).SetReadBuffer(4096))
	conn := tls.Client(
		raw,
		&tls.Config{RootCAs: c.ca.pool(), ServerName: "127.0.0.1", Certificates: []tls.Certificate{cert}},
	)
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: center\r\n\r\n", path)
	must(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
	resp, err := http.ReadResponse(bufio.NewReaderSize(conn, 16), nil)
	must(t, err)
	return raw, resp.StatusCode
}

// heap is what is allocated and in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestUnreadWatches has many watches on a large object that changes, of which one is read: the
// memory is that of some versions of the object.
func TestUnreadWatches(t *testing.T) {
	storetest.Figure(t)
	c := start(t, t.TempDir(), newAuthority(t), nil)
	c.busy = true
	c.createSpace("flood", "Retain")
	d, cert := dyn(t, c.admin("flood")), c.ca.issue(t, "admin", "system:masters")
	api := d.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default")
	unreadWatches(
		t,
		c,
		cert,
		api,
		object("v1", "ConfigMap", "default", "big"),
		"/api/v1/namespaces/default/configmaps",
		60<<20,
	)
}

// TestUnreadCustomWatches is TestUnreadWatches of a custom resource, whose watches share one of the
// store.
func TestUnreadCustomWatches(t *testing.T) {
	storetest.Figure(t)
	c := start(t, t.TempDir(), newAuthority(t), nil)
	c.busy = true
	c.createSpace("flood", "Retain")
	d, cert := dyn(t, c.admin("flood")), c.ca.issue(t, "admin", "system:masters")
	def, gvr := gadgets("flood.example.com")
	spec := def.Object["spec"].(map[string]any)
	spec["scope"] = "Namespaced"
	spec["versions"].([]any)[0].(map[string]any)["schema"] = map[string]any{
		"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}
	_, err := d.Resource(crdsGVR).Create(t.Context(), def, metav1.CreateOptions{})
	must(t, err)
	unreadWatches(
		t,
		c,
		cert,
		d.Resource(gvr).Namespace("default"),
		object(gvr.GroupVersion().String(), "Gadget", "default", "big"),
		"/apis/flood.example.com/v1/namespaces/default/gadgets",
		60<<20,
	)
}

// kept returns the heap that stays: the first size that is at most enough, or the last one after
// 5 s. What is only on its way at a busy moment goes sooner, what a watch keeps for its reader stays
// for longer.
func kept(enough uint64) uint64 {
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		if now := heap(); now <= enough || time.Now().After(end) {
			return now
		}
	}
}

func unreadWatches(
	t *testing.T,
	c *center,
	cert tls.Certificate,
	api dynamic.ResourceInterface,
	obj *unstructured.Unstructured,
	path string,
	may uint64,
) {
	const watches, changes, size = 40, 4, 1_000_000
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	text := func() string {
		b := make([]byte, size/2)
		for i := range b {
			b[i] = byte(rand.Uint32())
		}
		return hex.EncodeToString(b)
	}
	obj.Object["data"] = map[string]any{"x": text()}
	_, err := api.Create(ctx, obj, metav1.CreateOptions{})
	must(t, err)
	reader, err := api.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=big"})
	must(t, err)
	defer reader.Stop()
	before := heap()
	for range watches {
		_, code := unread(t, c, cert, "/clusters/flood"+path+"?watch=true&fieldSelector=metadata.name%3Dbig")
		if code != http.StatusOK {
			t.Fatalf("a watch is answered %d", code)
		}
	}
	var most uint64
	last := ""
	for range changes {
		o, err := api.Patch(
			ctx,
			"big",
			types.MergePatchType,
			[]byte(`{"data":{"x":"`+text()+`"}}`),
			metav1.PatchOptions{},
		)
		must(t, err)
		last = o.GetResourceVersion()
		most = max(most, kept(before+may))
	}
	if most > before+may {
		t.Errorf("%d unread watches on %d bytes take %d MiB", watches, size, (most-before)>>20)
	}
	for seen := ""; seen != last; {
		e, ok := <-reader.ResultChan()
		if !ok {
			if reader, err = api.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=big"}); err != nil {
				t.Fatal(err)
			}
			continue
		}
		seen = e.Object.(*unstructured.Unstructured).GetResourceVersion()
	}
}

// TestOpenWatches: a space has as many watches open as it may, and not more.
func TestOpenWatches(t *testing.T) {
	c := start(t, t.TempDir(), newAuthority(t), nil)
	c.busy = true
	before, _ := c.api.Watches()
	c.createSpace("few", "Retain")
	cert := c.ca.issue(t, "admin", "system:masters")
	_, err := dyn(
		t,
		c.admin("root"),
	).Resource(
		spacesGVR,
	).Patch(
		t.Context(),
		"few",
		types.MergePatchType,
		[]byte(`{"spec":{"quota":{"watches":3}}}`),
		metav1.PatchOptions{},
	)
	must(t, err)
	path := strings.TrimPrefix(apirequest.URL(c.url, "few"), c.url) + "/api/v1/configmaps?watch=true"
	var open []net.Conn
	within(t, time.Minute, "the quota counts", func() bool {
		conn, code := unread(t, c, cert, path)
		if code == http.StatusOK {
			open = append(open, conn)
		}
		return code == http.StatusTooManyRequests
	})
	if len(open) < 3 {
		t.Errorf("%d watches are open", len(open))
	}
	_, err = clients(
		t,
		c.admin("few"),
	).CoreV1().RESTClient().Get().AbsPath(
		"/api/v1/configmaps",
	).Param(
		"watch",
		"true",
	).MaxRetries(
		0,
	).Stream(
		t.Context(),
	)
	if err == nil || !strings.Contains(err.Error(), "spec.quota.watches") {
		t.Errorf("one too many: %v", err)
	}
	if n, _ := c.api.Watches(); n < before+len(open) {
		t.Errorf("the metric counts %d watches, %d before", n, before)
	}
	for _, conn := range open {
		conn.Close()
	}
	within(t, time.Minute, "room for another one", func() bool {
		_, code := unread(t, c, cert, path)
		return code == http.StatusOK
	})
}
