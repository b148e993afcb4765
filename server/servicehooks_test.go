package server_test

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/exchange"
)

// hookSites is one site, oslo, with Pods that serve webhooks. It knows a Pod by its space and its
// UID, as an agent does.
type hookSites struct {
	t  *testing.T
	ca *authority

	mu    sync.Mutex
	pods  map[string]*httptest.Server // SPACE/NAMESPACE/POD/UID
	asked []string
	away  bool
}

func (s *hookSites) Do(_ context.Context, target string, r *exchange.Request) (*http.Response, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := strings.Join([]string{r.Space, r.Namespace, r.Pod, r.UID}, "/")
	s.asked = append(s.asked, target+" "+key)
	switch pod := s.pods[key]; {
	case s.away:
		return nil, &exchange.Fault{Code: 503, Message: "site oslo cannot be reached: it has no session"}
	case target != "oslo" || pod == nil || r.Verb != exchange.Connect:
		return (&exchange.Fault{Code: 404, Message: "the site has no such pod"}).Response(), nil
	default:
		conn, err := net.Dial("tcp", pod.Listener.Addr().String())
		return &http.Response{
			StatusCode: 101, Body: conn, Header: http.Header{exchange.HeaderSite: {"oslo"}},
		}, err
	}
}

func (*hookSites) Serve(w http.ResponseWriter, _ *http.Request, _ string, _ *exchange.Request, _ func(string, int)) {
	w.WriteHeader(http.StatusForbidden)
}

// serves has a Pod of a space serve webhooks in namespace default, behind Service hook. It refuses
// ConfigMaps whose name begins with bad.
func (s *hookSites) serves(c *center, space string, converted *atomic.Int64) {
	answers := http.NewServeMux()
	answers.HandleFunc("/validate", func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			s.t.Error(err)
		}
		review.Response = &admissionv1.AdmissionResponse{
			UID: review.Request.UID, Allowed: !strings.HasPrefix(review.Request.Name, "bad"),
			Result: &metav1.Status{Message: space + " refuses"},
		}
		if strings.HasPrefix(review.Request.Name, "other") {
			s.t.Errorf("the webhook of %s has seen %s", space, review.Request.Name)
		}
		review.Request = nil
		_ = json.NewEncoder(w).Encode(review)
	})
	answers.Handle("/convert", convertAs(s.t, space, converted))
	answers.HandleFunc("/whose/", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, space+" "+r.URL.RequestURI()+r.Header.Get("Authorization"))
	})
	server := s.ca.serve(s.t, "hook.default.svc", answers)
	s.mu.Lock()
	s.pods[space+"/default/hook-1/u-1"] = server
	s.mu.Unlock()
	center := clients(s.t, c.api.Loopback(space)).CoreV1()
	pod := c.mirror(space, "hook-1", map[string]string{
		v1alpha1.AnnotationReportedFrom: "oslo", exchange.ReportedUID: "u-1",
	})
	pod.Labels = map[string]string{"app": "hook"}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	_, err := center.Pods("default").Update(s.t.Context(), pod, metav1.UpdateOptions{})
	must(s.t, err)
}

func placeServices(_ context.Context, _ string, k store.Key, _ metav1.Object) (targets, unit string) {
	return placedIf(k.Resource == "services" || k.Resource == "configmaps", "oslo")
}

func hookService(t *testing.T, c *center, space string) {
	_, err := clients(t, c.admin(space)).CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "hook"},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "hook"}, Ports: []corev1.ServicePort{{Port: 443}}},
	}, metav1.CreateOptions{})
	must(t, err)
}

func guardBy(client registrationv1.WebhookClientConfig) *registrationv1.ValidatingWebhookConfiguration {
	none := registrationv1.SideEffectClassNone
	return &registrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "guard"},
		Webhooks: []registrationv1.ValidatingWebhook{{
			Name: "guard.example.com", ClientConfig: client, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
			Rules: []registrationv1.RuleWithOperations{onConfigMaps(registrationv1.Create, registrationv1.Update)},
		}}}
}

func hookAt(path string, ca []byte) registrationv1.WebhookClientConfig {
	return registrationv1.WebhookClientConfig{CABundle: ca, Service: &registrationv1.ServiceReference{
		Namespace: "default", Name: "hook", Path: &path,
	}}
}

// TestWebhooksByService: two spaces with equal Services, configurations and definitions, each with
// Pods of its own at one site.
func TestWebhooksByService(t *testing.T) {
	ca := newAuthority(t)
	sites := &hookSites{t: t, ca: ca, pods: map[string]*httptest.Server{}}
	c := start(t, t.TempDir(), ca, placeServices, func(config *apiserver.Config) { config.Sites = sites })
	spaces := []string{"team", "team-b"}
	converted := map[string]*atomic.Int64{}
	for _, space := range spaces {
		c.createSpace(space, "Retain")
		converted[space] = &atomic.Int64{}
	}
	try := func(space, name string) error {
		_, err := clients(t, c.admin(space)).CoreV1().ConfigMaps("default").Create(
			t.Context(), configMap(name, nil), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}},
		)
		return err
	}
	refusedWith := func(space, name, says string) {
		t.Helper()
		var err error
		within(t, time.Minute, space+" refuses "+name+" with "+says, func() bool {
			err = try(space, name)
			return err != nil && strings.Contains(err.Error(), says)
		})
	}
	reg := func(space string) kubernetes.Interface { return clients(t, c.admin(space)) }
	for _, space := range spaces {
		// A configuration may come before all else, and its bundle last, as cert-manager has it.
		_, err := reg(space).AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(
			t.Context(), guardBy(hookAt("/validate", nil)), metav1.CreateOptions{},
		)
		must(t, err)
		refusedWith(space, "good", `failed calling webhook "guard.example.com"`)
		refusedWith(space, "good", `no endpoints available for service "hook": there is no such Service`)
		hookService(t, c, space)
		refusedWith(space, "good", "site oslo: no pod has its selector")
	}
	// A Pod of one space is nothing to the other one.
	sites.serves(c, "team", converted["team"])
	refusedWith("team", "good", "x509")
	refusedWith("team-b", "good", "site oslo: no pod has its selector")
	sites.serves(c, "team-b", converted["team-b"])
	for _, space := range spaces {
		text, err := json.Marshal([]map[string]any{
			{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": ca.bundle()},
		})
		must(t, err)
		_, err = reg(space).AdmissionregistrationV1().ValidatingWebhookConfigurations().Patch(
			t.Context(), "guard", types.JSONPatchType, text, metav1.PatchOptions{},
		)
		must(t, err)
		within(t, time.Minute, "the webhook of "+space, func() bool { return try(space, "good") == nil })
		refusedWith(space, "bad", space+" refuses")
	}
	for _, a := range sites.asked {
		if a != "oslo team/default/hook-1/u-1" && a != "oslo team-b/default/hook-1/u-1" {
			t.Errorf("the site was asked for %s", a)
		}
	}
	proxied(t, c, spaces)
	convertsByService(t, c, spaces, converted)
	sitesAway(t, c, sites, try)
}

// convertsByService: equal definitions are converted by their own spaces' Pods, and an event that
// several watches see once.
func convertsByService(t *testing.T, c *center, spaces []string, converted map[string]*atomic.Int64) {
	v1 := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "letters"}
	v2 := v1.GroupResource().WithVersion("v2")
	for _, space := range spaces {
		d := dyn(t, c.admin(space))
		_, err := d.Resource(crdsGVR).Create(t.Context(), letters(map[string]any{
			"service":  map[string]any{"namespace": "default", "name": "hook", "path": "/convert"},
			"caBundle": c.ca.bundle(),
		}), metav1.CreateOptions{})
		must(t, err)
	}
	for _, space := range spaces {
		letter := object("example.com/v1", "Letter", "", "a")
		letter.Object["spec"] = map[string]any{"text": "hello"}
		api := dyn(t, c.admin(space))
		within(t, time.Minute, "letters in "+space, func() bool {
			_, err := api.Resource(v1).Namespace("default").Create(t.Context(), letter.DeepCopy(), metav1.CreateOptions{})
			return err == nil
		})
		var watches []watch.Interface
		for range 5 {
			w, err := api.Resource(v2).Namespace("default").Watch(t.Context(), metav1.ListOptions{})
			must(t, err)
			defer w.Stop()
			watches = append(watches, w)
		}
		for _, w := range watches {
			e := <-w.ResultChan()
			spec := e.Object.(interface{ UnstructuredContent() map[string]any }).UnstructuredContent()["spec"]
			if got := spec.(map[string]any); got["words"] != "hello" || got["by"] != space {
				t.Errorf("the letter of %s as v2: %v", space, got)
			}
		}
		if n := converted[space].Load(); n != 1 {
			t.Errorf("%s: one letter was converted %d times for five watches", space, n)
		}
	}
}

// sitesAway: while the site of a webhook is away, a write is refused with why, and one that changes
// only the placement passes.
func sitesAway(t *testing.T, c *center, sites *hookSites, try func(space, name string) error) {
	maps := clients(t, c.admin("team")).CoreV1().ConfigMaps("default")
	_, err := maps.Create(t.Context(), configMap("moved", nil), metav1.CreateOptions{})
	must(t, err)
	sites.mu.Lock()
	sites.away = true
	for _, s := range sites.pods {
		s.Close()
	}
	sites.mu.Unlock()
	err = try("team", "good")
	if err == nil || !strings.Contains(err.Error(), "site oslo cannot be reached: it has no session") {
		t.Errorf("away: %v", err)
	}
	patch := func(text string) error {
		_, err := maps.Patch(t.Context(), "moved", types.MergePatchType, []byte(text), metav1.PatchOptions{})
		return err
	}
	if err := patch(`{"data":{"a":"b"},"metadata":{"labels":{"skerry.dev/target":"paris"}}}`); err == nil {
		t.Error("a write that changes more than the placement passes")
	}
	must(t, patch(`{"metadata":{"labels":{"skerry.dev/target":"paris"}}}`))
	must(t, clients(t, c.admin("team")).AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(
		t.Context(), "guard", metav1.DeleteOptions{},
	))
	within(t, time.Minute, "without the webhook", func() bool { return try("team", "good") == nil })
}

// bundle is what a configuration trusts.
func (a *authority) bundle() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// serve serves HTTPS under a name.
func (a *authority) serve(t *testing.T, name string, h http.Handler) *httptest.Server {
	k := newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), DNSNames: []string{name},
		NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, a.cert, &k.PublicKey, a.key)
	must(t, err)
	s := httptest.NewUnstartedServer(h)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: k}}}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}
