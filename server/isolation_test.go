package server_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"skerry.dev/skerry/tunnel/tunneltest"
)

const isolatedRounds = 8 // of writes to every object

// TestFiftySpacesOfEqualNames has fifty spaces written to at the same time, all with objects of the
// same names, each followed by a watch and by an informer, while the center restarts twice. Nobody
// may ever see what belongs to another space, and in the end every space holds exactly what its
// writer has put there.
func TestFiftySpacesOfEqualNames(t *testing.T) {
	isolatedSpaces := 10
	if thorough {
		isolatedSpaces = 50
	}
	dir, ca := t.TempDir(), newAuthority(t)
	address := tunneltest.AnyPort() // the center listens there again
	l, err := net.Listen("tcp", address)
	must(t, err)
	c := startOn(t, l, dir, ca, nil)
	var tenants []*tenant
	for i := range isolatedSpaces {
		name := fmt.Sprintf("s%s%d", strings.Repeat("-a", i%3), i) // some are the beginning of others: s1, s10
		c.createSpace(name, "Retain")
		tenants = append(tenants, newTenant(t, c, name))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var writers, readers sync.WaitGroup
	for _, s := range tenants {
		writers.Go(func() { s.write(ctx) })
		readers.Go(func() { s.watch(ctx) })
		s.inform(ctx, &readers)
	}
	for range 2 {
		half := tenants[0].rounds.Load() + isolatedRounds/3
		within(
			t,
			2*time.Minute,
			"writes between restarts",
			func() bool { return tenants[0].rounds.Load() >= half || tenants[0].rounds.Load() >= isolatedRounds },
		)
		c.busy = true
		c.stop()
		l, err := net.Listen("tcp", address)
		must(t, err)
		c = startOn(t, l, dir, ca, nil)
	}
	writers.Wait()
	events := int64(0)
	for _, s := range tenants {
		s.compare(ctx)
		events += s.events.Load()
	}
	cancel()
	readers.Wait()
	t.Logf(
		"%d spaces, %d objects of equal names each, %d rounds of writes, 2 restarts: %d events, all of their own space",
		isolatedSpaces,
		len(sharedNames),
		isolatedRounds,
		events,
	)
	if events < int64(isolatedSpaces)*int64(len(sharedNames))*isolatedRounds/2 {
		t.Error("the watches have seen too little for this to show anything")
	}
}

var sharedNames = []string{"web", "db", "cache", "queue"}

// tenant is one space, with its writer and its readers.
type tenant struct {
	t      *testing.T
	name   string
	api    kubernetes.Interface
	cached cache.SharedIndexInformer
	rounds atomic.Int64
	events atomic.Int64

	want map[string]string // what the writer has written last, by name; its alone until it ends
}

func newTenant(t *testing.T, c *center, name string) *tenant {
	return &tenant{t: t, name: name, api: clients(t, c.admin(name)), want: map[string]string{}}
}

// write puts every object anew in each round, and deletes one of them. A write whose answer was
// lost in a restart is repeated.
func (s *tenant) write(ctx context.Context) {
	api := s.api.CoreV1().ConfigMaps("default")
	for round := range isolatedRounds {
		for i, name := range sharedNames {
			value := fmt.Sprintf("%s/%s/%d", s.name, name, round)
			s.persist(ctx, func() error {
				cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"of": value}}
				_, err := api.Update(ctx, cm, metav1.UpdateOptions{})
				if apierrors.IsNotFound(err) {
					_, err = api.Create(ctx, cm, metav1.CreateOptions{})
				}
				return err
			})
			s.want[name] = value
			if (round+i)%5 == 0 {
				s.persist(ctx, func() error {
					err := api.Delete(ctx, name, metav1.DeleteOptions{})
					if apierrors.IsNotFound(err) {
						return nil
					}
					return err
				})
				delete(s.want, name)
			}
		}
		s.rounds.Add(1)
	}
}

// persist repeats what the center does not answer while it restarts.
func (s *tenant) persist(ctx context.Context, write func() error) {
	deadline := time.Now().Add(time.Minute)
	for err := write(); err != nil; err = write() {
		if time.Now().After(deadline) || ctx.Err() != nil {
			s.t.Errorf("a write in space %s: %v", s.name, err)
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// sees judges an object that a reader of this space was shown.
func (s *tenant) sees(cm *corev1.ConfigMap) {
	if cm.Name == "kube-root-ca.crt" {
		return
	}
	s.events.Add(1)
	if of := cm.Data["of"]; !strings.HasPrefix(of, s.name+"/"+cm.Name+"/") || cm.GetSelfLink() != "" {
		s.t.Errorf("a reader in space %s sees %s %q", s.name, cm.Name, of)
	}
}

// watch follows the space by plain watches, from the newest state whenever one ends.
func (s *tenant) watch(ctx context.Context) {
	for ctx.Err() == nil {
		w, err := s.api.CoreV1().ConfigMaps("default").Watch(ctx, metav1.ListOptions{})
		if err != nil {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		for e := range w.ResultChan() {
			if cm, ok := e.Object.(*corev1.ConfigMap); ok && e.Type != watch.Bookmark {
				s.sees(cm)
			}
		}
	}
}

// inform follows the space by an informer, as controllers do.
func (s *tenant) inform(ctx context.Context, all *sync.WaitGroup) {
	factory := informers.NewSharedInformerFactory(s.api, 0)
	s.cached = factory.Core().V1().ConfigMaps().Informer()
	_, err := s.cached.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { s.sees(o.(*corev1.ConfigMap)) },
		UpdateFunc: func(_, o any) { s.sees(o.(*corev1.ConfigMap)) },
	})
	must(s.t, err)
	all.Go(func() { s.cached.RunWithContext(ctx) })
}

// compare holds what the space and the informer show against what was written.
func (s *tenant) compare(ctx context.Context) {
	for what, list := range map[string]func() []*corev1.ConfigMap{
		"the space": func() []*corev1.ConfigMap {
			l, err := s.api.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
			must(s.t, err)
			var out []*corev1.ConfigMap
			for i := range l.Items {
				out = append(out, &l.Items[i])
			}
			return out
		},
		"the informer": func() []*corev1.ConfigMap {
			var out []*corev1.ConfigMap
			for _, o := range s.cached.GetStore().List() {
				if cm := o.(*corev1.ConfigMap); cm.Namespace == "default" {
					out = append(out, cm)
				}
			}
			return out
		},
	} {
		within(s.t, time.Minute, what+" of "+s.name+" as written", func() bool {
			got := map[string]string{}
			for _, cm := range list() {
				if cm.Name != "kube-root-ca.crt" {
					got[cm.Name] = cm.Data["of"]
				}
			}
			return fmt.Sprint(got) == fmt.Sprint(s.want)
		})
	}
}
