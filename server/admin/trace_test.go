package admin

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"skerry.dev/skerry/server/api/v1alpha1"
)

func TestATraceIsPrintedForPeople(t *testing.T) {
	in := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
	for want, r := range map[string]*v1alpha1.ServiceReview{
		`Service   shop/db-0.db, port 5432
From      nordic/tromso, as pod web/front-0
Answered  by oslo, pod db-0, in 24.3ms

AT              DECIDES    TOOK     WHY
nordic/tromso   Gateway    24.3ms   callers come to the agent
the center      Asks       12.9ms   it asks oslo
oslo            Answered   <0.1ms   accepts (pod db-0)
`: {
			Spec: v1alpha1.ServiceReviewSpec{Namespace: "shop", Service: "db", Host: "db-0", From: "nordic/tromso"},
			Status: v1alpha1.ServiceReviewStatus{Answered: true, Reason: "Answered", Site: "oslo", Pod: "db-0", Port: 5432,
				As: "web/front-0", Took: in(24321 * time.Microsecond), Hops: []v1alpha1.ServiceHop{
					{At: "nordic/tromso", Reason: "Gateway", Message: "callers come to the agent", Took: in(24321 * time.Microsecond)},
					{At: ".", Reason: "Asks", Message: "it asks oslo", Took: in(12900 * time.Microsecond)},
					{At: "oslo", Reason: "Answered", Message: "accepts", Pod: "db-0", Took: in(9 * time.Microsecond)}}},
		},
		`Service   shop/db
From      paris
Answered  no
Reason    NoName: the site has not even \x1b[31mthe name
Next      let something of the space run there, or say skerry.dev/reach: Space

AT      DECIDES   TOOK   WHY
paris   NoName           it has not
`: {
			Spec: v1alpha1.ServiceReviewSpec{Namespace: "shop", Service: "db", From: "paris"},
			Status: v1alpha1.ServiceReviewStatus{Reason: "NoName", Message: "the site has not even \x1b[31mthe name",
				Hops: []v1alpha1.ServiceHop{{At: "paris", Reason: "NoName", Message: "it has not"}}},
		},
	} {
		var out strings.Builder
		if err := printTrace(&out, r, ""); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsRune(out.String(), '\x1b') {
			t.Errorf("a site writes to the terminal: %q", out.String())
		}
		if want = strings.ReplaceAll(want, `\x1b[31m`, "[31m"); strings.ReplaceAll(out.String(), "\x1b", "") != want {
			t.Errorf("got\n%s\nwant\n%s", out.String(), want)
		}
	}
}

// A name is that of a Service, else that of an import, whose Service is asked about.
func TestAnImportIsTracedByItsName(t *testing.T) {
	derived := v1alpha1.ServiceOfImport("web")
	broken := errors.New("broken")
	for argument, c := range map[string]struct {
		there    []string
		fails    error
		asked    []string
		imported string
	}{
		"web":                {there: []string{"web", derived}, asked: []string{"web"}},
		"svc/web":            {there: []string{"web"}, asked: []string{"web"}},
		"a.web":              {asked: []string{"a.web"}},
		"b.web":              {there: []string{derived}, asked: []string{"b.web"}},
		"more/web":           {asked: []string{"more/web", v1alpha1.ServiceOfImport("more/web")}, imported: "more/web"},
		"serviceimports/web": {there: []string{"web", derived}, asked: []string{derived}, imported: "web"},
		"svcim/web":          {asked: []string{derived}, imported: "web"},
		"services/web":       {there: []string{derived}, asked: []string{"web", derived}, imported: "web"},
		"svc/db":             {fails: broken, asked: []string{"db"}},
	} {
		name, isImport := tracedName(argument)
		var asked []string
		r, imported, err := reviewTraced(TraceOptions{Service: name, Import: isImport, From: "paris", Pod: "front"}, "store",
			func(r *v1alpha1.ServiceReview) error {
				asked = append(asked, strings.TrimPrefix(r.Spec.Host+"."+r.Spec.Service, "."))
				if c.fails == nil && !slices.Contains(c.there, r.Spec.Service) {
					return apierrors.NewNotFound(schema.GroupResource{Resource: "services"}, r.Spec.Service)
				}
				return c.fails
			})
		found := c.fails == nil && slices.Contains(c.there, r.Spec.Service)
		if !slices.Equal(asked, c.asked) || imported != c.imported || (err == nil) != found ||
			r.Spec.Namespace != "store" || r.Spec.From != "paris" || r.Spec.Pod != "store/front" {
			t.Errorf("%s: asked %q, imported %q, %v: %+v", argument, asked, imported, err, r.Spec)
		}
	}
	var out strings.Builder
	if err := printTrace(&out, &v1alpha1.ServiceReview{
		Spec:   v1alpha1.ServiceReviewSpec{Namespace: "store", Service: derived, From: "paris"},
		Status: v1alpha1.ServiceReviewStatus{Reason: "NoReadyPod", Message: "none"}}, "web"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Import    store/web\n", "Service   store/" + derived,
		"the team of the space that exports"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

// A Service may be given by the names that clients use: with its Namespace and zone, and by the name of an import.
func TestTheServiceOfATrace(t *testing.T) {
	derived := v1alpha1.ServiceOfImport("web")
	serve := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var review v1alpha1.ServiceReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		if q := review.Spec; q.Namespace != "store" || q.Service != derived && q.Service != "db" {
			status := apierrors.NewNotFound(schema.GroupResource{Resource: "services"}, q.Service).Status()
			status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
			w.WriteHeader(http.StatusNotFound)
			json.NewEncoder(w).Encode(status)
			return
		}
		review.Status = v1alpha1.ServiceReviewStatus{Answered: true, Reason: "Answered"}
		json.NewEncoder(w).Encode(review)
	}
	for line, want := range map[string]string{
		"db -n store":  "Service   store/db\n",
		"db.store.svc": "Service   store/db\n",
		"db-0.db.store.svc.cluster.local -n other": "Service   store/db-0.db\n",
		"web -n store":                   "Service   store/" + derived + "\n",
		"web.store.svc.clusterset.local": "Service   store/" + derived + "\n",
		"wbe -n store":                   `there is no service "wbe" in namespace store`,
		"db.store -n web": `there is no service "store" in namespace web; -n names another namespace. db.store is taken ` +
			`for the Pod db of it; for Service db of namespace store write: db -n store`,
	} {
		out, err := command(t, serve, "trace --from paris "+line)
		if err != nil {
			out += err.Error()
		}
		if !strings.Contains(out, want) {
			t.Errorf("%s: %s", line, out)
		}
	}
}

// Of another space's Service its team has to be asked.
func TestWhatToDoAboutAnotherSpacesService(t *testing.T) {
	s := &v1alpha1.ServiceReviewStatus{Reason: "DeniedByNetworkPolicy", Hops: []v1alpha1.ServiceHop{{At: "."},
		{At: ".", Message: "space shop: its NetworkPolicies let in no caller of this address"}}}
	if got := adviceFor(s, false); !strings.Contains(got, "ipBlock") {
		t.Error(got)
	}
	s.Hops = s.Hops[:1]
	if got := adviceFor(s, false); !strings.Contains(got, "by its labels") {
		t.Error(got)
	}
}
