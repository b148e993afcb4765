package admission

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/registry/rest"
	api "k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/apis/networking"
	"k8s.io/kubernetes/pkg/apis/scheduling"
	storageapi "k8s.io/kubernetes/pkg/apis/storage"
	"k8s.io/utils/ptr"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/request"
)

// lagging is a storage whose cache has seen nothing yet of what is stored.
type lagging struct {
	rest.Lister
	stored, cached runtime.Object
	asked          int
}

func (l *lagging) List(_ context.Context, o *internalversion.ListOptions) (runtime.Object, error) {
	l.asked++
	if o.ResourceVersion == "0" {
		return l.cached, nil
	}
	return l.stored, nil
}

// offered are the names of the PriorityClasses that targets have.
type offered []string

func (o offered) MayHave(_ context.Context, kind, name string) bool {
	return kind == "PriorityClass" && slices.Contains(o, name)
}

func (o offered) KeepsSize(targets []string, class string) string {
	if slices.Contains(targets, "paris") && class == "local-path" {
		return "paris"
	}
	return ""
}

// A claim whose class lets none grow is refused in the words of a cluster.
func TestAClaimGrowsWhereItsClassLetsIt(t *testing.T) {
	claim := func(targets, class, size string) *api.PersistentVolumeClaim {
		return &api.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationTargets: targets}},
			Spec: api.PersistentVolumeClaimSpec{StorageClassName: &class, Resources: api.VolumeResourceRequirements{
				Requests: api.ResourceList{api.ResourceStorage: resource.MustParse(size)}}},
		}
	}
	c := &ClusterDefaults{Offers: offered{}}
	for name, of := range map[string]struct {
		was, now *api.PersistentVolumeClaim
		refused  bool
	}{
		"grows":                     {claim("oslo,paris", "local-path", "1Mi"), claim("oslo,paris", "local-path", "2Mi"), true},
		"stays":                     {claim("paris", "local-path", "1024Ki"), claim("paris", "local-path", "1Mi"), false},
		"shrinks":                   {claim("paris", "local-path", "2Mi"), claim("paris", "local-path", "1Mi"), false},
		"grows elsewhere":           {claim("oslo", "local-path", "1Mi"), claim("oslo", "local-path", "2Mi"), false},
		"grows by another class":    {claim("paris", "fast", "1Mi"), claim("paris", "fast", "2Mi"), false},
		"grows before it is placed": {claim("", "local-path", "1Mi"), claim("", "local-path", "2Mi"), false},
	} {
		a := admission.NewAttributesRecord(of.now, of.was, schema.GroupVersionKind{}, "app", "x",
			schema.GroupVersionResource{Resource: "persistentvolumeclaims"}, "", admission.Update, nil, false,
			&user.DefaultInfo{Name: "alice"})
		err := c.Admit(request.WithSpace(t.Context(), "shop"), a, nil)
		if apierrors.IsForbidden(err) != of.refused || of.refused != (err != nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func admitDefaults(t *testing.T, c *ClusterDefaults, o runtime.Object, resource string) error {
	t.Helper()
	a := admission.NewAttributesRecord(o, nil, schema.GroupVersionKind{}, "app", "x",
		schema.GroupVersionResource{Resource: resource}, "", admission.Create, nil, false, &user.DefaultInfo{Name: "alice"})
	return c.Admit(request.WithSpace(t.Context(), "shop"), a, nil)
}

// A class counts from the moment at which its creation was answered, whatever the cache has seen. A
// class that neither the space nor its targets have is refused.
func TestANewClassCountsAtOnce(t *testing.T) {
	never := api.PreemptNever
	classes := &lagging{cached: &scheduling.PriorityClassList{}, stored: &scheduling.PriorityClassList{
		Items: []scheduling.PriorityClass{
			{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000, PreemptionPolicy: &never},
			{ObjectMeta: metav1.ObjectMeta{Name: "usual"}, Value: 10, GlobalDefault: true},
		},
	}}
	c := &ClusterDefaults{Priorities: classes, Offers: offered{"of-the-site"}}
	for name, want := range map[string]*int32{
		"high": ptr.To[int32](1000), "": ptr.To[int32](10), "system-node-critical": ptr.To[int32](2000001000),
		"of-the-site": nil,
	} {
		classes.asked = 0
		pod := &api.Pod{Spec: api.PodSpec{PriorityClassName: name}}
		if err := admitDefaults(t, c, pod, "pods"); err != nil {
			t.Errorf("class %q: %v", name, err)
			continue
		}
		if is := pod.Spec.Priority; !ptr.Equal(is, want) {
			t.Errorf("a Pod of class %q has the priority %d", name, ptr.Deref(is, -1))
		}
		if is := pod.Spec.PriorityClassName; is != cmp.Or(name, "usual") {
			t.Errorf("a Pod of class %q names the class %q", name, is)
		}
		if p := pod.Spec.PreemptionPolicy; (p == nil) != (want == nil) || p != nil && (*p == never) != (name == "high") {
			t.Errorf("a Pod of class %q has the policy %q", name, ptr.Deref(p, ""))
		}
		if classes.asked != 1 {
			t.Errorf("class %q took %d reads", name, classes.asked)
		}
	}
	err := admitDefaults(t, c, &api.Pod{Spec: api.PodSpec{PriorityClassName: "nowhere"}}, "pods")
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "no PriorityClass with name nowhere was found") {
		t.Errorf("a class that nobody has: %v", err)
	}

	standard := storageapi.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "own",
		Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}}}
	c.StorageClasses = &lagging{cached: &storageapi.StorageClassList{},
		stored: &storageapi.StorageClassList{Items: []storageapi.StorageClass{standard}}}
	claim := &api.PersistentVolumeClaim{}
	if err := admitDefaults(t, c, claim, "persistentvolumeclaims"); err != nil {
		t.Fatal(err)
	}
	if is := claim.Spec.StorageClassName; is == nil || *is != "own" {
		t.Errorf("a claim has the class %q", ptr.Deref(is, ""))
	}
}

// An Ingress without a class, in either of its spellings, has the newest default one that its space has.
func TestAnIngressHasTheDefaultClassOfItsSpace(t *testing.T) {
	class := func(name, isDefault string, age int64) networking.IngressClass {
		return networking.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.Unix(1e9-age, 0),
			Annotations: map[string]string{"ingressclass.kubernetes.io/is-default-class": isDefault}}}
	}
	old, newer, other := class("old", "true", 100), class("newer", "true", 10), class("other", "false", 1)
	for name, c := range map[string]struct {
		classes []networking.IngressClass
		ingress networking.Ingress
		want    string
	}{
		"none":            {nil, networking.Ingress{}, ""},
		"none is default": {[]networking.IngressClass{other}, networking.Ingress{}, ""},
		"the newest":      {[]networking.IngressClass{old, newer, other}, networking.Ingress{}, "newer"},
		"named": {[]networking.IngressClass{newer}, networking.Ingress{
			Spec: networking.IngressSpec{IngressClassName: ptr.To("mine")}}, "mine"},
		"named by annotation": {[]networking.IngressClass{newer}, networking.Ingress{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"kubernetes.io/ingress.class": "mine"}}}, ""},
	} {
		d := &ClusterDefaults{Offers: offered{}, IngressClasses: &lagging{cached: &networking.IngressClassList{},
			stored: &networking.IngressClassList{Items: c.classes}}}
		if err := admitDefaults(t, d, &c.ingress, "ingresses"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if is := ptr.Deref(c.ingress.Spec.IngressClassName, ""); is != c.want {
			t.Errorf("%s: the class is %q, not %q", name, is, c.want)
		}
	}
}

// A manifest says no account and no priority: who replaces a Pod from one keeps what was filled in.
func TestAReplacedPodKeepsWhatWasFilledIn(t *testing.T) {
	never := api.PreemptNever
	c := &ClusterDefaults{}
	admit := func(o, old runtime.Object, sub string) error {
		a := admission.NewAttributesRecord(o, old, schema.GroupVersionKind{}, "app", "x",
			schema.GroupVersionResource{Resource: "pods"}, sub, admission.Update, nil, false, &user.DefaultInfo{Name: "alice"})
		return c.Admit(request.WithSpace(t.Context(), "shop"), a, nil)
	}
	old := &api.Pod{Spec: api.PodSpec{
		PriorityClassName: "high", Priority: ptr.To[int32](1000), PreemptionPolicy: &never,
		ServiceAccountName: "default",
	}}
	pod := &api.Pod{Spec: api.PodSpec{PriorityClassName: "high"}}
	if err := admit(pod, old, ""); err != nil || !ptr.Equal(pod.Spec.Priority, old.Spec.Priority) ||
		!ptr.Equal(pod.Spec.PreemptionPolicy, &never) || pod.Spec.ServiceAccountName != "default" {
		t.Errorf("%v: %+v", err, pod.Spec)
	}
	other := &api.Pod{Spec: api.PodSpec{Priority: ptr.To[int32](7), ServiceAccountName: "op"}}
	if err := admit(other, old, ""); err != nil || *other.Spec.Priority != 7 || other.Spec.ServiceAccountName != "op" {
		t.Errorf("%v: what a request says is changed to %+v", err, other.Spec)
	}
	if err := admit(&api.PersistentVolumeClaim{}, &api.PersistentVolumeClaim{}, ""); err != nil {
		t.Error(err)
	}
}
