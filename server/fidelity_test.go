package server_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// contentTypes: native kinds are served in protobuf, and in CBOR as little as upstream does by
// default.
func contentTypes(t *testing.T, c *center) {
	const protobuf = "application/vnd.kubernetes.protobuf"
	ctx, config := t.Context(), c.admin("team")
	config.ContentType, config.AcceptContentTypes = protobuf, protobuf
	core := clients(t, config).CoreV1()
	_, err := core.ConfigMaps(
		"default",
	).Create(
		ctx,
		configMap("protobuf", map[string]string{"a": "b"}),
		metav1.CreateOptions{},
	)
	must(t, err)
	w, err := core.ConfigMaps("default").Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=protobuf"})
	must(t, err)
	defer w.Stop()
	if e := <-w.ResultChan(); e.Type != watch.Added || e.Object.(*corev1.ConfigMap).Data["a"] != "b" ||
		e.Object.(*corev1.ConfigMap).GetSelfLink() != "" {
		t.Errorf("watched: %s %+v", e.Type, e.Object)
	}
	list, err := core.ConfigMaps("default").List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=protobuf"})
	if must(t, err); len(list.Items) != 1 || list.Items[0].Data["a"] != "b" || list.Items[0].GetSelfLink() != "" {
		t.Errorf("listed: %+v", list.Items)
	}
	get := func(accept string) rest.Result {
		return core.RESTClient().Get().AbsPath(
			"/api/v1/namespaces/default/configmaps/protobuf",
		).SetHeader(
			"Accept",
			accept,
		).Do(
			ctx,
		)
	}
	if raw, err := get(protobuf).Raw(); err != nil || !bytes.HasPrefix(raw, []byte("k8s\x00")) {
		t.Errorf("asked for protobuf: %.40q %v", raw, err)
	}
	if raw, err := get("application/yaml").Raw(); err != nil || !bytes.Contains(raw, []byte("kind: ConfigMap\n")) {
		t.Errorf("asked for YAML: %.40q %v", raw, err)
	}
	if err := get("application/cbor").Error(); !apierrors.IsNotAcceptable(err) {
		t.Errorf("asked for CBOR: %v", err)
	}
	must(t, core.ConfigMaps("default").Delete(ctx, "protobuf", metav1.DeleteOptions{}))
}

// versions: a list as of a revision, of one that is not older, and of one that is still to come.
func versions(t *testing.T, c *center) {
	ctx, api := t.Context(), clients(t, c.admin("team")).CoreV1().ConfigMaps("default")
	var at [2]string
	for i := range at {
		cm := configMap(fmt.Sprint("version-", i), nil)
		cm.Labels = map[string]string{"test": "versions"}
		made, err := api.Create(ctx, cm, metav1.CreateOptions{})
		must(t, err)
		at[i] = made.ResourceVersion
	}
	for _, x := range []struct {
		version string
		match   metav1.ResourceVersionMatch
		want    int
	}{
		{"", "", 2},
		{at[0], metav1.ResourceVersionMatchExact, 1},
		{at[1], metav1.ResourceVersionMatchExact, 2},
		{at[1], metav1.ResourceVersionMatchNotOlderThan, 2},
		{at[1], "", 2},
	} {
		list, err := api.List(
			ctx,
			metav1.ListOptions{
				LabelSelector:        "test=versions",
				ResourceVersion:      x.version,
				ResourceVersionMatch: x.match,
			},
		)
		must(t, err)
		if len(list.Items) != x.want ||
			x.match == metav1.ResourceVersionMatchExact && list.ResourceVersion != x.version {
			t.Errorf("at %s %q: %d objects as of %s", x.version, x.match, len(list.Items), list.ResourceVersion)
		}
	}
	err := clients(
		t,
		c.admin("team"),
	).CoreV1().RESTClient().Get().AbsPath(
		"/api/v1/namespaces/default/configmaps",
	).Param(
		"resourceVersion",
		"1000000000",
	).
		Param(
			"resourceVersionMatch",
			"NotOlderThan",
		).MaxRetries(
		0,
	).Do(
		ctx,
	).Error()
	if !apierrors.IsTimeout(err) || !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		t.Errorf("of a revision that is not there yet: %v", err)
	}
	if _, err := api.List(
		ctx,
		metav1.ListOptions{ResourceVersionMatch: metav1.ResourceVersionMatchExact},
	); !apierrors.IsInvalid(
		err,
	) {
		t.Errorf("exactly at no revision: %v", err)
	}
	must(t, api.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "test=versions"}))
}

// bookmarks: a watch ends when its time is up, tells before where it has come to, which is as far
// as writes in other spaces, and another goes on from there without telling anything again.
func bookmarks(t *testing.T, c *center) {
	ctx, api := t.Context(), clients(t, c.admin("team")).CoreV1().ConfigMaps("default")
	_, err := api.Create(ctx, configMap("first", nil), metav1.CreateOptions{})
	must(t, err)
	seconds := int64(10)
	began := time.Now()
	w, err := api.Watch(ctx, metav1.ListOptions{AllowWatchBookmarks: true, TimeoutSeconds: &seconds})
	must(t, err)
	other, err := clients(
		t,
		c.admin("team-b"),
	).CoreV1().ConfigMaps(
		"default",
	).Create(
		ctx,
		configMap("elsewhere", nil),
		metav1.CreateOptions{},
	)
	must(t, err)
	seen, mark := map[string]bool{}, ""
	for e := range w.ResultChan() {
		cm := e.Object.(*corev1.ConfigMap)
		if e.Type == watch.Bookmark {
			mark = cm.ResourceVersion
			continue
		}
		seen[cm.Name] = true
	}
	if took := time.Since(began); took < 9*time.Second || !seen["first"] || seen["elsewhere"] ||
		mark != other.ResourceVersion {
		t.Fatalf(
			"a watch of 10 s ended after %s, told of %v and of %q at last, and %s is there",
			took,
			seen,
			mark,
			other.ResourceVersion,
		)
	}
	_, err = api.Create(ctx, configMap("second", nil), metav1.CreateOptions{})
	must(t, err)
	w, err = api.Watch(ctx, metav1.ListOptions{ResourceVersion: mark})
	must(t, err)
	defer w.Stop()
	if e := <-w.ResultChan(); e.Type != watch.Added || e.Object.(*corev1.ConfigMap).Name != "second" {
		t.Errorf("after the bookmark: %s %+v", e.Type, e.Object)
	}
	for _, name := range []string{"first", "second"} {
		must(t, api.Delete(ctx, name, metav1.DeleteOptions{}))
	}
}

// eventTTL: Events go by themselves, whichever group they were made in, and nothing else does.
func eventTTL(t *testing.T, c *center, space string) {
	ctx, api := t.Context(), clients(t, c.admin(space))
	told := func(name string) *corev1.Event {
		return &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Name: name},
			InvolvedObject: corev1.ObjectReference{Namespace: "default", Kind: "ConfigMap", Name: "stays"},
		}
	}
	_, err := api.CoreV1().ConfigMaps("default").Create(ctx, configMap("stays", nil), metav1.CreateOptions{})
	must(t, err)
	old, err := api.CoreV1().Events("default").Create(ctx, told("old"), metav1.CreateOptions{})
	must(t, err)
	if _, err := api.CoreV1().Events("default").Get(ctx, "old", metav1.GetOptions{}); err != nil {
		t.Errorf("an Event that was just made: %v", err)
	}
	within(t, time.Minute, "an Event goes", func() bool {
		_, err := api.EventsV1().Events("default").Get(ctx, "old", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	again, err := api.CoreV1().Events("default").Create(ctx, told("old"), metav1.CreateOptions{})
	if must(t, err); again.UID == old.UID {
		t.Error("it did not go")
	}
	within(t, time.Minute, "all of them go", func() bool {
		list, err := api.CoreV1().Events("").List(ctx, metav1.ListOptions{})
		return err == nil && len(list.Items) == 0
	})
	_, err = api.CoreV1().ConfigMaps("default").Get(ctx, "stays", metav1.GetOptions{})
	check(t, err)
}
