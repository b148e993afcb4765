// Command artifact publishes a directory as an ExternalArtifact of Flux, as a source controller
// would: it serves the directory as an archive on loopback, says in the object's status where and
// with which digest, and does so again whenever the directory has changed.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

var externalArtifacts = schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1",
	Resource: "externalartifacts"}

func main() {
	kubeconfig := flag.String("kubeconfig", os.Getenv("KUBECONFIG"), "of the cluster that has the ExternalArtifact")
	namespace := flag.String("namespace", "default", "namespace of the ExternalArtifact")
	name := flag.String("name", "", "name of the ExternalArtifact, which is made when it is not there")
	flag.Parse()
	if flag.NArg() != 1 || *name == "" {
		log.Fatal("usage: artifact --name NAME DIRECTORY")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := publish(ctx, *kubeconfig, *namespace, *name, flag.Arg(0)); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

// publish looks at the directory five times a second until ctx ends.
func publish(ctx context.Context, kubeconfig, namespace, name, dir string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	var archive atomic.Pointer[[]byte]
	go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(*archive.Load()) }))
	objects := client.Resource(externalArtifacts).Namespace(namespace)
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for seen, published := "", ""; ; {
		data, err := pack(dir)
		if err != nil {
			return err
		}
		digest := fmt.Sprintf("sha256:%x", sha256.Sum256(data))
		still := digest == seen // nobody is writing just now
		seen = digest
		if still && digest != published {
			archive.Store(&data)
			now := time.Now().UTC().Format(time.RFC3339)
			file := digest[len("sha256:"):] + ".tar.gz"
			body := map[string]any{"apiVersion": externalArtifacts.GroupVersion().String(), "kind": "ExternalArtifact",
				"metadata": map[string]any{"name": name}}
			if err := apply(ctx, objects, name, body); err != nil {
				return err
			}
			body["status"] = map[string]any{
				"artifact": map[string]any{"digest": digest, "revision": "latest@" + digest, "path": file,
					"size": len(data), "lastUpdateTime": now,
					"url": fmt.Sprintf("http://%s/%s", listener.Addr(), file)},
				"conditions": []any{map[string]any{"type": "Ready", "status": "True", "reason": "Succeeded",
					"message": "published " + digest, "lastTransitionTime": now}},
			}
			if err := apply(ctx, objects, name, body, "status"); err != nil {
				return err
			}
			log.Print("published ", digest)
			published = digest
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

func apply(ctx context.Context, objects dynamic.ResourceInterface, name string, body map[string]any,
	subresource ...string) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	_, err = objects.Patch(ctx, name, types.ApplyPatchType, data, metav1.PatchOptions{FieldManager: "artifact"},
		subresource...)
	return err
}

// pack makes the same bytes of the same files.
func pack(dir string) ([]byte, error) {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	archive := tar.NewWriter(zip)
	files := os.DirFS(dir)
	if err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		if err := archive.WriteHeader(&tar.Header{Name: path, Mode: 0o644, Size: int64(len(data))}); err != nil {
			return err
		}
		_, err = archive.Write(data)
		return err
	}); err != nil {
		return nil, err
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	err := zip.Close()
	return out.Bytes(), err
}
