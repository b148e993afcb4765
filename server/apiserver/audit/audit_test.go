package audit

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditapi "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"skerry.dev/skerry/server/apiserver/authn"
)

// TestDefaultAuditPolicy: which requests are logged.
func TestDefaultAuditPolicy(t *testing.T) {
	g := &genericapiserver.Config{}
	if err := (Config{LogPath: filepath.Join(t.TempDir(), "audit.log"), MaxSize: 1}).AddTo(g); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		user, verb, group, resource string
		want                        auditapi.Level
	}{
		{"alice", "create", "apps", "deployments", auditapi.LevelMetadata},
		{"alice", "update", "", "secrets", auditapi.LevelMetadata},
		{"alice", "get", "", "secrets", auditapi.LevelMetadata},
		{"alice", "create", "", "serviceaccounts/token", auditapi.LevelMetadata},
		{"alice", "list", "apps", "deployments", auditapi.LevelNone},
		{"alice", "watch", "", "configmaps", auditapi.LevelNone},
		{"alice", "update", "coordination.k8s.io", "leases", auditapi.LevelNone},
		{authn.CenterUser, "update", "apps", "deployments", auditapi.LevelNone},
		{authn.CenterUser, "get", "", "secrets", auditapi.LevelNone},
	} {
		a := authorizer.AttributesRecord{
			User:            &user.DefaultInfo{Name: x.user},
			Verb:            x.verb,
			APIGroup:        x.group,
			Resource:        x.resource,
			ResourceRequest: true,
		}
		if got := g.AuditPolicyRuleEvaluator.EvaluatePolicyRule(a); got.Level != x.want {
			t.Errorf("%+v: %s", x, got.Level)
		}
	}
	if err := (Config{PolicyFile: "x"}).AddTo(g); err == nil {
		t.Error("a policy without a log")
	}
}

// BenchmarkAuditLine is what the audit log adds to a write: deciding, and writing the line.
func BenchmarkAuditLine(b *testing.B) {
	g := &genericapiserver.Config{}
	if err := (Config{LogPath: filepath.Join(b.TempDir(), "audit.log"), MaxSize: 1000}).AddTo(g); err != nil {
		b.Fatal(err)
	}
	who := &user.DefaultInfo{Name: "alice"}
	a := authorizer.AttributesRecord{
		User:            who,
		Verb:            "update",
		APIGroup:        "apps",
		Resource:        "deployments",
		ResourceRequest: true,
	}
	now := metav1.NewMicroTime(time.Now())
	e := &auditapi.Event{
		Level:      auditapi.LevelMetadata,
		AuditID:    "1c1b6ce7-4d5f-4a8c-9a90-0d47b1c2b1de",
		Stage:      auditapi.StageResponseComplete,
		RequestURI: "/clusters/shop/apis/apps/v1/namespaces/default/deployments/web",
		Verb:       "update",
		SourceIPs:  []string{"192.0.2.7"},
		UserAgent:  "kubectl/v1.36.3 (linux/amd64) kubernetes/abcdef0",
		ObjectRef: &auditapi.ObjectReference{Resource: "deployments", Namespace: "default",
			Name: "web", APIGroup: "apps", APIVersion: "v1"},
		ResponseStatus:           &metav1.Status{Code: 200},
		RequestReceivedTimestamp: now,
		StageTimestamp:           now,
	}
	e.User.Username = "alice"
	for b.Loop() {
		g.AuditPolicyRuleEvaluator.EvaluatePolicyRule(a)
		g.AuditBackend.ProcessEvents(e)
	}
}

func TestALogThatCannotBeWrittenHasANextStep(t *testing.T) {
	err := Config{LogPath: "/proc/nosuch/audit.log", MaxSize: 1}.AddTo(&genericapiserver.Config{})
	if err == nil || !strings.Contains(err.Error(), "--audit-log-path: ") || !strings.Contains(err.Error(), "name a file in") {
		t.Error(err)
	}
}
