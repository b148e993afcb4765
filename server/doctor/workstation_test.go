package doctor

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/doctor"
)

func from(kubeconfig string) []doctor.Check {
	return Workstation(WorkstationConfig{Kubeconfig: kubeconfig, Version: "v1.4.0",
		LookPath: func(string) (string, error) { return "/usr/bin/kubectl", nil }})
}

// A workstation without kubectl is told so, whatever else there is.
func TestWorkstationWithoutKubectl(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	alone(t, Workstation(WorkstationConfig{Kubeconfig: newAPI(t).kubeconfig(t), Version: "v1.4.0"}),
		"workstation.kubectl", "kubectl-missing")
}

func TestWorkstation(t *testing.T) {
	a := newAPI(t)
	file := a.kubeconfig(t)
	alone(t, from(file), "", "")
	for fault, change := range map[string]func(){
		"workstation-clock-off": func() { a.ahead = time.Hour },
		"credentials-refused":   func() { a.code = http.StatusUnauthorized },
		"center-not-ready":      func() { a.readyz = "etcd" },
	} {
		a.set(change)
		alone(t, from(file), "workstation.center", fault)
		a.set(func() { a.ahead, a.code, a.readyz = 0, 0, "" })
	}
	dir := t.TempDir()
	other := newAPI(t)
	for fault, file := range map[string]string{
		"center-wrong-ca":        kubeconfig(t, filepath.Join(dir, "ca"), a.at.URL, other.ca()),
		"center-name-unresolved": kubeconfig(t, filepath.Join(dir, "dns"), "https://nosuch.invalid:7443", a.ca()),
		"center-unreachable":     kubeconfig(t, filepath.Join(dir, "tcp"), "https://127.0.0.1:1", a.ca()),
	} {
		alone(t, from(file), "workstation.center", fault)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	named, otherName := filepath.Join(dir, "name"), []byte(`"tls-server-name":"center.example.org","certificate-auth`)
	if err := os.WriteFile(named, bytes.Replace(text, []byte(`"certificate-auth`), otherName, 1), 0o600); err != nil {
		t.Fatal(err)
	}
	alone(t, from(named), "workstation.center", "center-certificate")
	alone(t, from(filepath.Join(dir, "nosuch")), "workstation.kubeconfig", "kubeconfig-missing")
	t.Setenv("KUBECONFIG", "")
	t.Setenv("HOME", dir)
	alone(t, from(""), "workstation.kubeconfig", "kubeconfig-missing")
	if err := os.WriteFile(filepath.Join(dir, "half"), []byte("clusters: [{"), 0o600); err != nil {
		t.Fatal(err)
	}
	alone(t, from(filepath.Join(dir, "half")), "workstation.kubeconfig", "kubeconfig-invalid")
}

// Who is no admin of the center is told no faults that are not theirs.
func TestWorkstationOfAUser(t *testing.T) {
	a := newAPI(t)
	file := a.kubeconfig(t)
	a.set(func() { a.unlisted = http.StatusForbidden })
	alone(t, from(file), "", "")
	a.set(func() { a.unlisted = http.StatusUnauthorized; a.forbid = "spaces" })
	alone(t, from(file), "center.sites", "credentials-refused")
}

// site is a SyncTarget that is as it should be.
func site(name string, more ...metav1.Condition) v1alpha1.SyncTarget {
	t := v1alpha1.SyncTarget{}
	t.Name, t.Status.AgentVersion = name, "v1.4.0"
	t.Status.Conditions = append([]metav1.Condition{
		{Type: v1alpha1.ConditionConnected, Status: metav1.ConditionTrue, Reason: "Session", Message: "a session is open"},
		{Type: v1alpha1.ConditionSynced, Status: metav1.ConditionTrue, Reason: "Synced"},
	}, more...)
	return t
}

func TestSites(t *testing.T) {
	a := newAPI(t)
	file := a.kubeconfig(t)
	bad := func(kind string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: "X", Message: "seen"}
	}
	changed := func(change func(*v1alpha1.SyncTarget), more ...metav1.Condition) v1alpha1.SyncTarget {
		s := site("paris", more...)
		change(&s)
		return s
	}
	held := func(reason string) v1alpha1.SyncTarget {
		return changed(func(s *v1alpha1.SyncTarget) {
			s.Status.Held = &v1alpha1.SyncTargetHeld{Reason: reason, Message: "seen", Objects: 9, Deletions: 7}
			s.Status.Conditions[1].Status = metav1.ConditionFalse // Synced follows from it
		}, bad(v1alpha1.ConditionCenterTrusted))
	}
	healthy := []v1alpha1.SyncTarget{}
	for i := range 20 {
		healthy = append(healthy, site(fmt.Sprintf("site-%d", i)))
	}
	for name, c := range map[string]struct {
		site  v1alpha1.SyncTarget
		fault string
	}{
		"well":       {site("paris"), ""},
		"regressed":  {held(tunnel.CenterRegressed), "site-center-regressed"},
		"deletions":  {held(tunnel.DeletionsHeld), "site-deletions-held"},
		"two agents": {site("paris", bad(v1alpha1.ConditionUnique), bad(v1alpha1.ConditionClockInSync)), "site-two-agents"},
		"budget":     {site("paris", bad(v1alpha1.ConditionWithinBudget)), "site-budget-used"},
		"clock":      {site("paris", bad(v1alpha1.ConditionClockInSync)), "site-clock-off"},
		"store":      {site("paris", bad(v1alpha1.ConditionStoreHealthy)), "site-store"},
		"target":     {site("paris", bad(v1alpha1.ConditionTargetReachable)), "site-target-unreachable"},
		"below":      {site("paris", bad(v1alpha1.ConditionSubtreeHealthy)), "site-trouble-below"},
		"reports":    {site("paris", bad(v1alpha1.ConditionReportsKept)), "site-reports-too-much"},
		"replaced":   {site("paris", bad(v1alpha1.ConditionClusterUnchanged)), "site-cluster-replaced"},
		"expired":    {site("paris", bad(v1alpha1.ConditionCertificateValid)), "site-certificate"},
		"older":      {changed(func(s *v1alpha1.SyncTarget) { s.Status.AgentVersion = "v1.2.0" }), "site-version-skew"},
		"newer":      {changed(func(s *v1alpha1.SyncTarget) { s.Status.AgentVersion = "v1.5.0" }), "site-version-skew"},
		"one older":  {changed(func(s *v1alpha1.SyncTarget) { s.Status.AgentVersion = "v1.3.7" }), ""},
		"refuses":    {changed(func(s *v1alpha1.SyncTarget) { s.Status.Refused = 2 }), "site-refuses-objects"},
		"silent": {changed(func(s *v1alpha1.SyncTarget) {
			s.Status.Conditions[0].Reason = v1alpha1.ReasonSilent
		}), "site-silent"},
		"never": {changed(func(s *v1alpha1.SyncTarget) { s.Status.Conditions = nil }), "site-never-connected"},
		"away": {changed(func(s *v1alpha1.SyncTarget) {
			s.Status.Conditions[0].Status = metav1.ConditionFalse
		}, bad(v1alpha1.ConditionTargetReachable), bad(v1alpha1.ConditionClockInSync)), "site-not-connected"},
	} {
		t.Run(name, func(t *testing.T) {
			a.set(func() { a.sites = append(healthy[:20:20], c.site) })
			if f := alone(t, from(file), "center.sites", c.fault); f.About != "paris" && c.fault != "" {
				t.Errorf("about %q", f.About)
			}
		})
	}
}

func TestSpaces(t *testing.T) {
	a := newAPI(t)
	file := a.kubeconfig(t)
	full := v1alpha1.Space{}
	full.Name = "shop"
	a.set(func() { a.spaces = []v1alpha1.Space{full} })
	alone(t, from(file), "", "")
	full.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionWithinQuota, Status: metav1.ConditionFalse,
		Reason: "X", Message: "100 of 100 objects"}}
	a.set(func() { a.spaces = []v1alpha1.Space{full} })
	alone(t, from(file), "center.spaces", "space-quota-full")
}
