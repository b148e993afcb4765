package storage

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

func marked(typ watch.EventType, revision int, ends bool) watch.Event {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: strconv.Itoa(revision)}}
	if ends {
		cm.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return watch.Event{Type: typ, Object: cm}
}

// Bookmarks of the store come about once a minute and shortly before the end, the newest of those
// that there were. One that an event has overtaken does not come, and the one that ends initial
// events comes at once.
func TestBookmarksAreSpaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		in := watch.NewFakeWithChanSize(0, false)
		w := stripKeys(ctx, in, true, nil)
		defer w.Stop()
		next := func(within time.Duration) string {
			select {
			case e, ok := <-w.ResultChan():
				if !ok {
					return "ended"
				}
				return string(e.Type) + " " + e.Object.(*corev1.ConfigMap).ResourceVersion
			case <-time.After(within):
				return "nothing"
			}
		}
		want := func(within time.Duration, want string) {
			t.Helper()
			if got := next(within); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		began := time.Now()
		in.Action(watch.Bookmark, marked(watch.Bookmark, 1, true).Object)
		want(time.Second, "BOOKMARK 1")
		in.Action(watch.Bookmark, marked(watch.Bookmark, 5, false).Object)
		in.Action(watch.Bookmark, marked(watch.Bookmark, 6, false).Object)
		want(59*time.Second, "nothing")
		want(17*time.Second, "BOOKMARK 6")
		want(2*time.Minute, "nothing") // nothing is new
		in.Action(watch.Bookmark, marked(watch.Bookmark, 7, false).Object)
		want(time.Second, "BOOKMARK 7") // it is time for one
		in.Action(watch.Bookmark, marked(watch.Bookmark, 8, false).Object)
		go in.Action(watch.Added, marked(watch.Added, 9, false).Object)
		want(time.Second, "ADDED 9")
		want(80*time.Second, "nothing") // 8 would be a step back
		in.Action(watch.Bookmark, marked(watch.Bookmark, 10, false).Object)
		want(time.Second, "BOOKMARK 10")
		in.Action(watch.Bookmark, marked(watch.Bookmark, 11, false).Object)
		want(time.Minute, "BOOKMARK 11")
		if at := time.Since(began); at != 5*time.Minute-beforeEnd {
			t.Errorf("the last bookmark came after %s", at)
		}
		in.Action(watch.Bookmark, marked(watch.Bookmark, 12, false).Object)
		want(time.Minute, "ended")
	})
}

// Bookmarks of the cache are passed on as they come.
func TestBookmarksOfTheCache(t *testing.T) {
	in := watch.NewFakeWithChanSize(2, false)
	w := stripKeys(t.Context(), in, false, nil)
	defer w.Stop()
	for i := range 2 {
		in.Action(watch.Bookmark, marked(watch.Bookmark, i, false).Object)
		if e := <-w.ResultChan(); e.Type != watch.Bookmark ||
			e.Object.(*corev1.ConfigMap).ResourceVersion != strconv.Itoa(i) {
			t.Errorf("%d: %+v", i, e)
		}
	}
}
