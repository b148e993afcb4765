package summary

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/spaceapi/spaceapitest"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

var web = key("apps", "deployments", "web")

func TestOneTargetGivesItsExactStatusAndTheEchoEndsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place(web, "apps/v1", "Deployment", "a")
		c.says("a", web, &store.Report{OriginUID: "uid-web", Generation: 1,
			Status: status(
				`{"replicas":3,"readyReplicas":2,"conditions":[{"type":"Available","status":"False"}],"odd":{"x":[1,null]}}`,
			)})
		c.eventually("the status", func() bool { return num(c.status(web)["readyReplicas"]) == 2 })
		if odd := c.status(web)["odd"]; odd == nil {
			t.Error("a field of the target's status was lost")
		}
		for range 20 { // the same again, in another notation: nothing to write
			c.says("a", web, &store.Report{OriginUID: "uid-web", Generation: 1, At: time.Now().UnixMilli(),
				Status: status(
					`{"odd":{"x":[1,null]},"conditions":[{"status":"False","type":"Available"}],"readyReplicas":2.0,"replicas":3}`,
				)})
		}
		c.says("a", web, &store.Report{OriginUID: "uid-web", Status: status(`{"replicas":3,"readyReplicas":3}`)})
		c.eventually("the next status", func() bool { return num(c.status(web)["readyReplicas"]) == 3 })
		if c.status(web)["odd"] != nil {
			t.Error("a field that the target dropped stayed")
		}
		if n := c.count(); n != 2 {
			t.Errorf("%d writes for 2 statuses", n)
		}
	})
}

func TestAReportAboutAnEarlierObjectOfThatNameIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place(web, "apps/v1", "Deployment", "a")
		c.says("a", web, &store.Report{OriginUID: "uid-of-before", Status: status(`{"replicas":9}`)})
		c.says("a", web, &store.Report{OriginUID: "uid-web", Status: status(`{"replicas":3}`)})
		c.eventually("the status", func() bool { return num(c.status(web)["replicas"]) == 3 })
		if n := c.count(); n != 1 {
			t.Errorf("%d writes", n)
		}
	})
}

func TestSeveralTargetsAreMergedAndASilentOneHoldsObservedGenerationBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place(web, "apps/v1", "Deployment", "a", "b")
		one := status(`{"observedGeneration":4,"replicas":3,"readyReplicas":3,"updatedReplicas":3,"availableReplicas":3,` +
			`"conditions":[{"type":"Available","status":"True"},{"type":"Progressing","status":"True"}]}`)
		c.says("a", web, &store.Report{OriginUID: "uid-web", Status: one})
		c.eventually("a's status", func() bool { return c.status(web) != nil })
		if s := c.status(web); num(s["observedGeneration"]) != 0 || s["conditions"] != nil || num(s["replicas"]) != 0 {
			t.Errorf("b has not said anything yet: %v", c.status(web))
		}
		c.says("b", web, &store.Report{OriginUID: "uid-web",
			Status: status(
				`{"observedGeneration":3,"replicas":3,"readyReplicas":2,"updatedReplicas":3,"availableReplicas":1,` +
					`"conditions":[{"type":"Available","status":"False"}]}`,
			)})
		c.eventually("the worse one", func() bool {
			return num(c.status(web)["readyReplicas"]) == 2 && num(c.status(web)["observedGeneration"]) == 3
		})
		if s := c.status(web)["conditions"].([]any)[0].(map[string]any)["status"]; s != "False" {
			t.Errorf("Available is %v", s)
		}
		// the move ends: the exact status of the one that stays
		c.place(web, "apps/v1", "Deployment", "b")
		c.says("a", web, nil)
		c.eventually("b alone", func() bool {
			return num(c.status(web)["replicas"]) == 3 && num(c.status(web)["availableReplicas"]) == 1
		})
	})
}

func TestARefusalIsAConditionAndOneEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place(web, "apps/v1", "Deployment", "a", "b")
		refusal := &store.Report{
			OriginUID: "uid-web",
			Error:     &store.ReportError{Reason: "QuotaExceeded", Message: "exceeded quota: pods"},
		}
		c.says("a", web, &store.Report{OriginUID: "uid-web", Status: status(`{"replicas":3}`)})
		c.says("b", web, refusal)
		find := func() map[string]any {
			return byType(ours, c.status(web)["conditions"])[v1alpha1.ConditionObjectSynced]
		}
		c.eventually("the condition", func() bool {
			f := find()
			return f["status"] == "False" && f["reason"] == "QuotaExceeded" &&
				strings.HasPrefix(fmt.Sprint(f["message"]), "b: exceeded")
		})
		events := func() (n int) {
			c.mu.Lock()
			defer c.mu.Unlock()
			for k, o := range c.objects {
				if k.Resource == "events" && o["reason"] == "QuotaExceeded" {
					n++
				}
			}
			return n
		}
		c.eventually("the event", func() bool { return events() == 1 })
		writes := c.count()
		c.says("b", web, refusal)
		c.says("b", web, &store.Report{OriginUID: "uid-web", Status: status(`{"replicas":3}`)})
		c.eventually("the condition is taken off", func() bool {
			return find() == nil && num(c.status(web)["replicas"]) == 3
		})
		if n := c.count() - writes; n != 1 {
			t.Errorf("%d writes to take it off", n)
		}
		cm := key("", "configmaps", "plain")
		c.place(cm, "v1", "ConfigMap", "a")
		c.says(
			"a",
			cm,
			&store.Report{OriginUID: "uid-plain", Error: &store.ReportError{Reason: "QuotaExceeded", Message: "too many"}},
		)
		c.eventually("an event for a kind without conditions", func() bool { return events() == 2 })
		if c.status(cm) != nil {
			t.Error("a ConfigMap got a status")
		}
	})
}

func TestARefusalOfAKindWithoutConditionsIsAnAnnotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		secret := key("", "secrets", "plain")
		c.place(secret, "v1", "Secret", "a")
		mark := func() string {
			o, _ := c.Get(t.Context(), secret, "")
			meta, _ := o["metadata"].(map[string]any)
			notes, _ := meta["annotations"].(map[string]any)
			text, _ := notes[v1alpha1.AnnotationRefused].(string)
			return text
		}
		refusal := &store.Report{
			OriginUID: "uid-plain",
			Error:     &store.ReportError{Reason: "QuotaExceeded", Message: "too many"},
		}
		c.says("a", secret, refusal)
		c.eventually("marked", func() bool { return mark() == `{"reason":"QuotaExceeded","message":"a: too many"}` })
		writes := c.count()
		c.says("a", secret, refusal)
		c.says("a", secret, &store.Report{OriginUID: "uid-plain"})
		c.eventually("not any more", func() bool { return mark() == "" })
		if n := c.count() - writes; n != 1 {
			t.Errorf("%d writes to take one mark off", n)
		}
	})
}

func TestEqualEventsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		e := placement.Event{
			Key:        web,
			APIVersion: "apps/v1",
			Kind:       "Deployment",
			UID:        "u",
			Reason:     "Moved",
			Message:    "to b",
		}
		k := eventKey(e)
		for want := 1.0; want <= 3; want++ {
			c.s.Event(e)
			c.eventually("counted", func() bool {
				c.mu.Lock()
				defer c.mu.Unlock()
				return num(c.objects[k]["count"]) == want
			})
		}
	})
}

func TestConflictsAreTriedAgainAndRefusedStatusesAreNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place(web, "apps/v1", "Deployment", "a")
		gr := schema.GroupResource{Resource: "deployments"}
		c.mu.Lock()
		c.fail = []error{
			apierrors.NewConflict(gr, "web", fmt.Errorf("changed")),
			apierrors.NewInternalError(fmt.Errorf("busy")),
		}
		c.mu.Unlock()
		c.says("a", web, &store.Report{OriginUID: "uid-web", Status: status(`{"replicas":1}`)})
		c.eventually("written in the end", func() bool { return num(c.status(web)["replicas"]) == 1 })
		c.mu.Lock()
		c.fail = []error{apierrors.NewInvalid(schema.GroupKind{Kind: "Deployment"}, "web", nil)}
		c.mu.Unlock()
		c.says("a", web, &store.Report{OriginUID: "uid-web", Status: status(`{"replicas":-1}`)})
		c.eventually("refused", func() bool { c.mu.Lock(); defer c.mu.Unlock(); return len(c.fail) == 0 })
		c.says("a", web, &store.Report{OriginUID: "uid-web", Status: status(`{"replicas":2}`)})
		c.eventually("the next one", func() bool { return num(c.status(web)["replicas"]) == 2 })
	})
}

func TestAStatusThatSomebodyElseWroteIsPutRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place(web, "apps/v1", "Deployment", "a")
		c.says("a", web, &store.Report{OriginUID: "uid-web", Status: status(`{"replicas":1}`)})
		c.eventually("written", func() bool { return num(c.status(web)["replicas"]) == 1 })
		c.mu.Lock()
		o := spaceapitest.Clone(c.objects[web])
		o["status"] = map[string]any{"replicas": 7}
		c.commit(web, o)
		c.mu.Unlock()
		c.eventually("put right", func() bool { return num(c.status(web)["replicas"]) == 1 })
	})
}

// An operator in the space writes what it has found out; a target's copy of the custom resource
// shows only what its definition gives it.
func TestTheStatusThatAnOperatorInTheSpaceWritesStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		boat := key("example.com", "boats", "mary")
		c := newCenter(t)
		c.place(boat, "example.com/v1", "Boat", "a")
		report := func(depth int) {
			c.says("a", boat, &store.Report{OriginUID: "uid-mary", Status: status(`{"depth":%d}`, depth)})
		}
		report(1)
		c.eventually("what only the target says is shown", func() bool { return num(c.status(boat)["depth"]) == 1 })
		operate := func(phase string) {
			c.mu.Lock()
			defer c.mu.Unlock()
			o := spaceapitest.Clone(c.objects[boat])
			o["status"] = map[string]any{"phase": phase}
			o["metadata"].(map[string]any)["managedFields"] = []any{
				map[string]any{"manager": "skerry", "fieldsV1": map[string]any{"f:status": map[string]any{}}},
				map[string]any{
					"manager":     "captain",
					"subresource": "status",
					"fieldsV1":    map[string]any{"f:status": map[string]any{"f:phase": map[string]any{}}},
				}}
			c.commit(boat, o)
		}
		operate("Ready")
		writes := c.count()
		report(2)
		operate("Sailing")
		c.says(
			"a",
			boat,
			&store.Report{OriginUID: "uid-mary", Error: &store.ReportError{Reason: "QuotaExceeded", Message: "too many"}},
		)
		c.eventually("a refusal is told in an annotation", func() bool {
			o, _ := c.Get(t.Context(), boat, "")
			return strings.Contains(string(encode(o)), v1alpha1.AnnotationRefused)
		})
		report(3)
		c.stop() // which does what is queued
		if got := c.status(boat); got["phase"] != "Sailing" || got["depth"] != nil ||
			c.count() != writes+2 { // the annotation comes and goes
			t.Errorf("status %v after %d writes of the center", got, c.count()-writes)
		}
	})
}

// An ingress controller in the space tells where an Ingress is reached. Where none does, a site's
// own controller does.
func TestTheAddressThatAControllerInTheSpaceGivesAnIngressStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop, plain := key("networking.k8s.io", "ingresses", "shop"), key("networking.k8s.io", "ingresses", "plain")
		c := newCenter(t)
		at := func(ip string) map[string]any {
			return map[string]any{"loadBalancer": map[string]any{"ingress": []any{map[string]any{"ip": ip}}}}
		}
		for _, k := range []store.Key{shop, plain} {
			c.place(k, "networking.k8s.io/v1", "Ingress", "a")
		}
		c.mu.Lock()
		o := spaceapitest.Clone(c.objects[shop])
		o["status"] = at("192.0.2.1")
		o["metadata"].(map[string]any)["managedFields"] = []any{
			map[string]any{"manager": "nginx", "fieldsV1": map[string]any{"f:status": map[string]any{}}},
		}
		c.commit(shop, o)
		c.mu.Unlock()
		c.says("a", shop, &store.Report{OriginUID: "uid-shop", Status: status(`{"loadBalancer":{}}`)})
		c.says("a", plain, &store.Report{OriginUID: "uid-plain", Status: status("%s", encode(at("192.0.2.2")))})
		c.eventually("what the site says is shown", func() bool {
			return string(encode(c.status(plain))) == string(encode(at("192.0.2.2")))
		})
		c.stop() // which does what is queued
		if got := c.status(shop); string(encode(got)) != string(encode(at("192.0.2.1"))) {
			t.Errorf("the Ingress is at %v", got)
		}
	})
}

// Also when the operator writes just before the center does for the first time, and when the center
// was restarted since.
func TestTheStatusThatAnOperatorWroteBeforeStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		boat := key("example.com", "boats", "mary")
		c := newCenter(t)
		c.place(boat, "example.com/v1", "Boat", "a")
		c.mu.Lock()
		o := spaceapitest.Clone(c.objects[boat])
		o["status"] = map[string]any{"phase": "Ready"}
		o["metadata"].(map[string]any)["managedFields"] = []any{
			map[string]any{"manager": "captain", "fieldsV1": map[string]any{"f:status": map[string]any{}}},
		}
		c.objects[boat] = o // which the center has not been told of yet
		c.mu.Unlock()
		c.says("a", boat, &store.Report{OriginUID: "uid-mary", Status: status(`{"depth":1}`)})
		c.eventually("it is settled", func() bool {
			c.s.mu.Lock()
			defer c.s.mu.Unlock()
			return c.s.shown[boat].theirs
		})
		if got := c.status(boat); got["phase"] != "Ready" || c.count() != 0 {
			t.Errorf("status %v after %d writes of the center", got, c.count())
		}
	})
}

func TestWhatTheCenterDoesNotSendIsSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		cm := key("", "configmaps", "big")
		c.place(cm, "v1", "ConfigMap", "a", "b")
		c.place(web, "apps/v1", "Deployment", "a", "b")
		why := &store.ReportError{Reason: "TooLarge", Message: "it is too large"}
		for _, k := range []store.Key{cm, web} {
			c.s.Refuse(k, why)
			c.says("a", k, &store.Report{OriginUID: "uid-" + k.Name})
		}
		mark := func() string {
			o, err := c.Get(t.Context(), cm, "v1")
			if err != nil {
				t.Fatal(err)
			}
			meta, _ := o["metadata"].(map[string]any)
			notes, _ := meta["annotations"].(map[string]any)
			text, _ := notes[v1alpha1.AnnotationRefused].(string)
			return text
		}
		c.eventually("the annotation", func() bool { return strings.Contains(mark(), "TooLarge") })
		c.eventually("the condition", func() bool {
			f := byType(ours, c.status(web)["conditions"])[v1alpha1.ConditionObjectSynced]
			return f["reason"] == "TooLarge" && f["message"] == "it is too large"
		})
		if a, b := c.s.Tally("a", 1), c.s.Tally("b", 1); a.Refused != 2 || b.Refused != 2 || len(a.First) != 1 {
			t.Errorf("counted %+v and %+v", a, b)
		}
		c.s.Refuse(cm, nil)
		c.eventually("no annotation", func() bool { return mark() == "" })
	})
}
