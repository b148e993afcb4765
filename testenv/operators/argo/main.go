// Command argo syncs a directory of manifests into a namespace once with the engine of Argo CD:
// waves, hooks, pruning and health are the engine's. It prints a line for each object and fails
// unless all are synced.
package main

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/argoproj/gitops-engine/pkg/cache"
	"github.com/argoproj/gitops-engine/pkg/sync"
	"github.com/argoproj/gitops-engine/pkg/sync/common"
	"github.com/argoproj/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/gitops-engine/pkg/utils/tracing"
	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// trackingID says which application an object is of, as Argo CD does.
const trackingID = "argocd.argoproj.io/tracking-id"

// marked is what the cache keeps of an object besides the object.
type marked struct{ app string }

func main() {
	kubeconfig := flag.String("kubeconfig", os.Getenv("KUBECONFIG"), "of the cluster")
	namespace := flag.String("namespace", "default", "namespace of objects that name none")
	app := flag.String("app", "app", "name of the application: its objects that are no longer in the directory "+
		"are deleted")
	timeout := flag.Duration("timeout", time.Minute, "when to give up")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: argo --app NAME DIRECTORY")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	if err := run(ctx, *kubeconfig, *namespace, *app, flag.Arg(0)); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, kubeconfig, namespace, app, dir string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	wanted, err := read(dir, app)
	if err != nil {
		return err
	}
	live := cache.NewClusterCache(config, cache.SetLogr(logr.Discard()),
		cache.SetPopulateResourceInfoHandler(func(o *unstructured.Unstructured, _ bool) (any, bool) {
			of := o.GetAnnotations()[trackingID]
			return &marked{of}, of != ""
		}))
	if err := live.EnsureSynced(); err != nil {
		return err
	}
	defer live.Invalidate()
	results, err := settle(ctx, live, config, wanted, namespace, app)
	failed := 0
	for _, r := range results {
		fmt.Printf("%s/%s %s %s%s %s\n", r.ResourceKey.Kind, r.ResourceKey.Name, r.SyncPhase, r.Status, r.HookPhase,
			r.Message)
		if r.Status == common.ResultCodeSyncFailed || r.HookPhase == common.OperationFailed ||
			r.HookPhase == common.OperationError {
			failed++
		}
	}
	if err == nil && failed > 0 {
		err = fmt.Errorf("%d objects were not synced", failed)
	}
	return err
}

// settle goes on with the sync once a second until it has ended, each time with what is live then,
// as Argo CD's controller does.
func settle(ctx context.Context, live cache.ClusterCache, config *rest.Config, wanted []*unstructured.Unstructured,
	namespace, app string) ([]common.ResourceSyncResult, error) {
	var phase common.OperationPhase
	var message string
	var results []common.ResourceSyncResult
	kubectl := &kube.KubectlCmd{Log: logr.Discard(), Tracer: tracing.NopTracer{}}
	for began := metav1.Now(); ; {
		managed, err := live.GetManagedLiveObjs(wanted, func(r *cache.Resource) bool { return r.Info.(*marked).app == app })
		if err != nil {
			return results, err
		}
		s, cleanup, err := sync.NewSyncContext("directory", sync.Reconcile(wanted, managed, namespace, live), config,
			config, kubectl, namespace, live.GetOpenAPISchema(),
			sync.WithInitialState(phase, message, results, began), sync.WithPrune(true), sync.WithLogr(logr.Discard()))
		if err != nil {
			return results, err
		}
		s.Sync()
		phase, message, results = s.GetState()
		cleanup()
		if phase.Completed() {
			if !phase.Successful() {
				err = fmt.Errorf("sync %s: %s", phase, message)
			}
			return results, err
		}
		select {
		case <-ctx.Done():
			return results, fmt.Errorf("%w: %s", ctx.Err(), message)
		case <-time.After(time.Second):
		}
	}
}

// read returns the objects of all files below dir, marked as those of app.
func read(dir, app string) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	files := os.DirFS(dir)
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		objects, err := kube.SplitYAML(data)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, objects...)
		return nil
	})
	for _, o := range all {
		annotations := o.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[trackingID] = app
		o.SetAnnotations(annotations)
	}
	return all, err
}
