// Package provisioner makes volumes for a test cluster: a directory of the
// machine for each claim of its storage class, on the node that the scheduler
// chose, removed with the claim. It is what a local-path provisioner does in
// a small real cluster, without pods or images of its own.
//
// It relies on the volume controller of kube-controller-manager for binding
// and on the scheduler for choosing a node; only "wec server" imports it.
package provisioner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

const (
	// Name is the provisioner of the storage classes that this package serves.
	Name = "testenv.skerry.dev/directory"

	selectedNode  = "volume.kubernetes.io/selected-node"
	provisionedBy = "pv.kubernetes.io/provisioned-by"
)

// Provisioner provisions the claims of one cluster.
type Provisioner struct {
	client kubernetes.Interface
	dir    string
	queue  workqueue.TypedRateLimitingInterface[item]
	shared informers.SharedInformerFactory
}

// item is a claim to look at, or a volume when namespace is empty.
type item struct{ namespace, name string }

// New returns a provisioner of directories below dir.
func New(client kubernetes.Interface, dir string) *Provisioner {
	return &Provisioner{
		client: client,
		dir:    dir,
		queue:  workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[item]()),
		shared: informers.NewSharedInformerFactory(client, 10*time.Minute),
	}
}

// Run provisions and reclaims until ctx ends.
func (p *Provisioner) Run(ctx context.Context) error {
	defer p.queue.ShutDown()
	enqueue := func(obj any) {
		key, err := cache.ObjectToName(obj)
		if err == nil {
			p.queue.Add(item{key.Namespace, key.Name})
		}
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    enqueue,
		UpdateFunc: func(_, obj any) { enqueue(obj) },
	}
	core := p.shared.Core().V1()
	storage := p.shared.Storage().V1().StorageClasses().Informer()
	for _, informer := range []cache.SharedIndexInformer{core.PersistentVolumeClaims().Informer(),
		core.PersistentVolumes().Informer()} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			return err
		}
	}
	p.shared.Start(ctx.Done())
	defer p.shared.Shutdown()
	if !cache.WaitForCacheSync(ctx.Done(), storage.HasSynced) {
		return ctx.Err()
	}
	go func() { <-ctx.Done(); p.queue.ShutDown() }()
	for p.next(ctx) {
	}
	return ctx.Err()
}

func (p *Provisioner) next(ctx context.Context) bool {
	it, ended := p.queue.Get()
	if ended {
		return false
	}
	defer p.queue.Done(it)
	work := p.provision
	if it.namespace == "" {
		work = p.reclaim
	}
	if err := work(ctx, it); err != nil {
		slog.Warn("volume", "claim", it.namespace, "name", it.name, "err", err)
		p.queue.AddRateLimited(it)
		return true
	}
	p.queue.Forget(it)
	return true
}

// provision makes the volume of a claim that has a node and no volume yet.
func (p *Provisioner) provision(ctx context.Context, it item) error {
	claim, err := p.shared.Core().V1().PersistentVolumeClaims().Lister().PersistentVolumeClaims(it.namespace).Get(it.name)
	if err != nil {
		return ignoreNotFound(err)
	}
	node := claim.Annotations[selectedNode]
	if claim.Spec.VolumeName != "" || claim.Spec.StorageClassName == nil || claim.DeletionTimestamp != nil {
		return nil
	}
	class, err := p.shared.Storage().V1().StorageClasses().Lister().Get(*claim.Spec.StorageClassName)
	if err != nil {
		return ignoreNotFound(err)
	}
	if class.Provisioner != Name || node == "" {
		return nil
	}
	volume := newVolume(claim, node, p.dir)
	if class.ReclaimPolicy != nil {
		volume.Spec.PersistentVolumeReclaimPolicy = *class.ReclaimPolicy
	}
	path := volume.Spec.HostPath.Path
	if err := os.MkdirAll(path, 0o777); err != nil {
		return err
	}
	// Pods of any user write to it; MkdirAll is subject to the umask.
	if err := os.Chmod(path, 0o777); err != nil {
		return err
	}
	_, err = p.client.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// reclaim removes a volume whose claim is gone, with its directory.
func (p *Provisioner) reclaim(ctx context.Context, it item) error {
	volume, err := p.shared.Core().V1().PersistentVolumes().Lister().Get(it.name)
	if err != nil {
		return ignoreNotFound(err)
	}
	released := volume.Status.Phase == corev1.VolumeReleased &&
		volume.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete
	if !released || volume.Annotations[provisionedBy] != Name || volume.Spec.HostPath == nil {
		return nil
	}
	path := volume.Spec.HostPath.Path
	if filepath.Dir(path) != filepath.Clean(p.dir) {
		return errors.New("volume's path " + path + " is not below " + p.dir)
	}
	if err := os.RemoveAll(path); err != nil {
		return fmt.Errorf("remove directory: %w", err)
	}
	err = p.client.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, metav1.DeleteOptions{})
	return ignoreNotFound(err)
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
