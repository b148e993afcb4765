package space

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/queue"
)

// TestNamespacesOutliveTheirDeletion: kubectl finds what a manifest has after its namespace.
func TestNamespacesOutliveTheirDeletion(t *testing.T) {
	e := &emptier{queue: queue.NewFair(time.Millisecond, time.Second, func(of namespace) string { return of.space })}
	defer e.queue.ShutDown()
	note := func(name string, deleted *metav1.Time) {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, DeletionTimestamp: deleted}}
		ns.SetSelfLink("/registry/namespaces/shop/" + name)
		e.note(ns)
	}
	now := time.Now()
	note("lives", nil)
	note("just-now", &metav1.Time{Time: now.Add(time.Hour)}) // so that a slow machine does not matter
	note("before", &metav1.Time{Time: now.Add(-emptyAfter)})
	if next, _ := e.queue.Get(); next.name != "before" {
		t.Errorf("%s is emptied", next.name)
	}
	if n := e.queue.Len(); n != 0 {
		t.Errorf("%d more are emptied at once", n)
	}
}
