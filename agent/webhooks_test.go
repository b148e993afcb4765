package agent

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
)

const webhooksGroup = "admissionregistration.k8s.io"

// hooks is a configuration of the space shop for its Pods, called by Service app/hook.
func hooks(generation int64, failurePolicy string) store.Entry {
	return liveAt(generation, webhooksGroup, "mutatingwebhookconfigurations", webhooksGroup+"/v1",
		"MutatingWebhookConfiguration", "", "hooks", map[string]any{"webhooks": []any{map[string]any{
			"name": "pods.example.com", "failurePolicy": failurePolicy, "sideEffects": "None",
			"admissionReviewVersions": []any{"v1"},
			"clientConfig":            map[string]any{"service": map[string]any{"namespace": "app", "name": "hook"}},
			"rules": []any{map[string]any{"apiGroups": []any{"*"}, "apiVersions": []any{"*"},
				"operations": []any{"CREATE"}, "resources": []any{"*"}}},
		}}})
}

func hookService() store.Entry {
	return live("", "services", "v1", "Service", "app", "hook",
		map[string]any{"spec": map[string]any{"selector": map[string]any{"app": "hook"}}})
}

// mirror is the configuration that the target has of a space.
func (s *site) mirror(space string) map[string]any {
	return s.api.Object(webhooksGroup, "mutatingwebhookconfigurations", "", "skerry-"+space+".hooks")
}

// asked are the namespaces in which the webhook of a space is asked, with spaces between them.
func (s *site) asked(space string) string {
	var names []string
	all, _ := s.mirror(space)["webhooks"].([]any)
	for _, hook := range all {
		if hook.(map[string]any)["name"] == nil {
			continue // what the test's API server leaves of an element that was taken off
		}
		selector := hook.(map[string]any)["namespaceSelector"].(map[string]any)
		for _, name := range selector["matchExpressions"].([]any)[0].(map[string]any)["values"].([]any) {
			names = append(names, name.(string))
		}
	}
	return strings.Join(names, " ")
}

func TestWebhooksOfTwoSpacesAtASite(t *testing.T) { inBubble(t, webhooksOfTwoSpacesAtASite) }

func webhooksOfTwoSpacesAtASite(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{Webhooks: []string{"*"}})
	s.agent.applier.Gate.Impersonate = true
	s.desire(spaceNamespace("shop", "u1", "app"), hookService(), hooks(1, "Fail"), deployment(1, "app", "web", 1),
		bank(spaceNamespace("bank", "u2", "app")), bank(hookService()), bank(hooks(1, "Fail")))
	eventually(t, "both are mirrored", func() bool { return s.asked("shop") == "app" && s.asked("bank") == "bank-app" })
	eventually(t, "the Deployment is there", func() bool { return s.exists(deployment(1, "app", "web", 1)) })
	for space, namespace := range map[string]string{"shop": "app", "bank": "bank-app"} {
		hook := s.mirror(space)["webhooks"].([]any)[0].(map[string]any)
		service := hook["clientConfig"].(map[string]any)["service"].(map[string]any)
		conditions := dump(hook["matchConditions"])
		if service["namespace"] != namespace || !strings.Contains(conditions, "skerry-spaces:"+space+`"`) {
			t.Errorf("%s: %v, %s", space, service, conditions)
		}
	}

	// A namespace comes, and one goes: the other space's stay as they are.
	late := spaceNamespace("shop", "u1", "late")
	s.desire(late)
	eventually(t, "the new namespace, too", func() bool { return s.asked("shop") == "app late" })
	s.desire(gone(late))
	eventually(t, "not the old one", func() bool { return s.asked("shop") == "app" })
	if got := s.asked("bank"); got != "bank-app" {
		t.Errorf("the other space's: %s", got)
	}

	// Without the Service it is asked nowhere, and its author is told.
	s.desire(gone(hookService()))
	eventually(t, "told", func() bool {
		return s.asked("shop") == "" && strings.Contains(s.refusal(hooks(1, "")),
			"Service app/hook is not placed at this site")
	})
	s.desire(hookService())
	eventually(t, "asked again", func() bool { return s.asked("shop") == "app" && s.refusal(hooks(1, "")) == "" })
	s.desire(gone(hooks(1, "")))
	eventually(t, "gone", func() bool { return s.mirror("shop") == nil })
	if s.asked("bank") != "bank-app" {
		t.Error("the other space's went with it")
	}
}

func TestWebhooksAreNotAskedInNamespacesOfTheSite(t *testing.T) {
	inBubble(t, webhooksAreNotAskedInNamespacesOfTheSite)
}

func webhooksAreNotAskedInNamespacesOfTheSite(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{Webhooks: []string{"shop"}, Namespaces: []string{"theirs"}})
	s.agent.applier.Gate.Impersonate = true
	s.api.Put("v1", "Namespace", "", "theirs", nil)
	s.desire(spaceNamespace("shop", "u1", "app"), spaceNamespace("shop", "u1", "theirs"), hookService(), hooks(1, "Fail"))
	s.settled()
	eventually(t, "only in what was made for the space", func() bool { return s.asked("shop") == "app" })
}

// What changes while a configuration is being written is not lost.
func TestWebhooksFollowWhatChangesMeanwhile(t *testing.T) {
	inBubble(t, webhooksFollowWhatChangesMeanwhile)
}

func webhooksFollowWhatChangesMeanwhile(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{Webhooks: []string{"shop"}})
	s.agent.applier.Gate.Impersonate = true
	writing, goOn := make(chan struct{}), make(chan struct{})
	var first sync.Once
	s.api.Before(func(method, plural, _ string) {
		if method == http.MethodPatch && plural == "mutatingwebhookconfigurations" {
			first.Do(func() { close(writing); <-goOn })
		}
	})
	s.desire(spaceNamespace("shop", "u1", "app"), hookService(), hooks(1, "Fail"))
	<-writing
	more := spaceNamespace("shop", "u1", "more")
	s.desire(more)
	eventually(t, "the Namespace is there", func() bool {
		r, known := s.agent.inventory.Get(more.Key)
		return known && r.UID != ""
	})
	close(goOn)
	eventually(t, "asked in both", func() bool { return s.asked("shop") == "app more" })
}

func TestTheSiteTakesWebhooksBack(t *testing.T) { inBubble(t, theSiteTakesWebhooksBack) }

func theSiteTakesWebhooksBack(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{Webhooks: []string{"shop"}})
	s.agent.applier.Gate.Impersonate = true
	s.desire(spaceNamespace("shop", "u1", "app"), hookService(), hooks(1, "Fail"))
	eventually(t, "mirrored", func() bool { return s.asked("shop") == "app" })
	s.settled()
	s.allow = &tunnel.Allow{Kinds: []string{"*"}, Controllers: []string{"*"}}
	s.restart(false)
	eventually(t, "removed while the center says nothing", func() bool {
		return s.mirror("shop") == nil && strings.Contains(s.refusal(hooks(1, "")), "webhooks: [SPACE]")
	})
	s.allow = &tunnel.Allow{Webhooks: []string{"shop"}}
	s.restart(false)
	eventually(t, "and made again", func() bool { return s.asked("shop") == "app" })
}

func TestAForeignConfigurationIsNeverTaken(t *testing.T) {
	inBubble(t, aForeignConfigurationIsNeverTaken)
}

func aForeignConfigurationIsNeverTaken(t *testing.T) {
	s := sealedSite(t, tunnel.Allow{Webhooks: []string{"shop"}})
	s.api.Put(webhooksGroup+"/v1", "MutatingWebhookConfiguration", "", "skerry-shop.hooks",
		map[string]any{"webhooks": []any{}})
	s.desire(spaceNamespace("shop", "u1", "app"), hookService(), hooks(1, "Fail"))
	eventually(t, "refused", func() bool { return s.refusal(hooks(1, "")) != "" })
	if s.asked("shop") != "" {
		t.Error("a configuration of the site was changed")
	}
}

func TestMirroredNamesAreOfOneSpace(t *testing.T) {
	key := func(space, name string) store.Key {
		return store.Key{Space: space, Group: webhooksGroup, Resource: "validatingwebhookconfigurations", Name: name}
	}
	m := target.Mapping("x-")
	if a, b := m.KeyThere(key("shop", "b.c")), m.KeyThere(key("shop-b", "c")); a.Name == b.Name {
		t.Errorf("both are %s", a.Name)
	}
	there := m.KeyThere(key("shop", "b.c"))
	if here, ok := m.KeyHere(there); !ok || here != key("shop", "b.c") {
		t.Errorf("%v %v", here, ok)
	}
	there.Space = "shop-b"
	if here, ok := m.KeyHere(there); ok {
		t.Errorf("another space's: %v", here)
	}
}
