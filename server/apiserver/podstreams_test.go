package apiserver

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	api "k8s.io/kubernetes/pkg/apis/core"
)

// TestFirstWord: of a command line the audit log has the first word alone.
func TestFirstWord(t *testing.T) {
	for uri, want := range map[string]string{
		"/p/exec?command=mysql&command=-psecret&container=db": "/p/exec?command=mysql&container=db",
		"/p/exec?container=db&command=sh":                     "/p/exec?container=db&command=sh",
		"/p/exec?command=a&%63ommand=secret":                  "/p/exec?command=a",
		"/p/exec?command=a&command&command=":                  "/p/exec?command=a",
		"/p/exec?command=a&comm%zzand=secret":                 "/p/exec?command=a",
		"/p/log?container=db":                                 "/p/log?container=db",
		"/p":                                                  "/p",
	} {
		if got := firstWord(uri); got != want {
			t.Errorf("%s: %s, want %s", uri, got, want)
		}
	}
}

// TestPassedOn: which writes of a mirrored Pod are its site's to carry out.
func TestPassedOn(t *testing.T) {
	for name, c := range map[string]struct {
		resource, subresource string
		op                    admission.Operation
		verb                  string
		want                  bool
	}{
		"deletion":            {"pods", "", admission.Delete, "delete", true},
		"deletion of many":    {"pods", "", admission.Delete, "deletecollection", false},
		"change":              {"pods", "", admission.Update, "update", false},
		"status":              {"pods", "status", admission.Update, "update", false},
		"debugging":           {"pods", "ephemeralcontainers", admission.Update, "patch", true},
		"eviction":            {"pods", "eviction", admission.Create, "create", true},
		"of a ReplicaSet":     {"replicasets", "", admission.Delete, "delete", false},
		"scale of ReplicaSet": {"replicasets", "scale", admission.Update, "update", false},
	} {
		ctx := apirequest.WithRequestInfo(t.Context(), &apirequest.RequestInfo{Verb: c.verb})
		a := admission.NewAttributesRecord(
			nil,
			nil,
			api.Kind("Pod").WithVersion("v1"),
			"web",
			"app-1",
			api.Resource(c.resource).WithVersion("v1"),
			c.subresource,
			c.op,
			nil,
			false,
			nil,
		)
		if got := passedOn(ctx, a); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestOpenStreams: a space has so many, and what has ended counts no more.
func TestOpenStreams(t *testing.T) {
	o := &openStreams{}
	for range streamsOfSpace {
		if !o.open("shop") {
			t.Fatal("too few")
		}
	}
	if o.open("shop") || !o.open("team") {
		t.Error("not by space")
	}
	o.close("shop")
	o.close("team")
	if !o.open("shop") || len(o.by) != 1 || o.all != streamsOfSpace {
		t.Errorf("%+v", o)
	}
}

type onePod struct{ pod *api.Pod }

func (p onePod) Get(context.Context, string, *metav1.GetOptions) (runtime.Object, error) {
	return p.pod, nil
}

// TestRunningPods: upstream's checks see a Pod as it runs, and the stored one stays as it is.
func TestRunningPods(t *testing.T) {
	stored := &api.Pod{Spec: api.PodSpec{Containers: []api.Container{{Name: "a"}}},
		Status: api.PodStatus{EphemeralContainerStatuses: []api.ContainerStatus{{Name: "look"}}}}
	got, err := runningPods{onePod{stored}}.Get(t.Context(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	pod := got.(*api.Pod)
	if pod.Spec.NodeName == "" || len(pod.Spec.EphemeralContainers) != 1 ||
		pod.Spec.EphemeralContainers[0].Name != "look" {
		t.Errorf("%+v", pod.Spec)
	}
	if stored.Spec.NodeName != "" || stored.Spec.EphemeralContainers != nil {
		t.Error("the stored Pod was changed")
	}
}
