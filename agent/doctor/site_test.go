package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/agent"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/store/bolt"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/doctor"
	"skerry.dev/skerry/tunnel/doctor/doctortest"
	"skerry.dev/skerry/tunnel/doctor/machine"
	"skerry.dev/skerry/tunnel/tunneltest"
)

// joined is a site whose agent has run: its identity, its store and what the agent said.
func joined(t *testing.T) (Config, *targettest.Server) {
	t.Helper()
	dir, api := filepath.Join(t.TempDir(), "agent"), targettest.New(t)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	tunneltest.NewCenter(t).Enrol(t, dir, "paris")
	file, err := bolt.Open(filepath.Join(dir, agent.StoreFile), bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	allow(api, nil)
	cfg := Config{DataDir: dir, Target: target.Cluster(api.Config()), Impersonate: true, Unit: "skerry-agent.service",
		Units: manager{}}
	says(t, cfg, agent.Status{})
	return cfg, api
}

// says writes what a running agent said.
func says(t *testing.T, cfg Config, s agent.Status) {
	t.Helper()
	now := time.Now().UTC()
	if s.Running, s.Process = true, 1; s.Ended == "" {
		s.Connected = &now
	}
	if s.At.IsZero() {
		s.At = now
	}
	data, err := json.Marshal(s)
	if err == nil {
		err = os.WriteFile(filepath.Join(cfg.DataDir, agent.StatusFile), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// allow answers which rights the agent has: all but those that lacks says.
func allow(api *targettest.Server, lacks func(target.Right) bool) {
	api.Handle(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews") {
			return false
		}
		var review struct {
			Spec struct {
				ResourceAttributes struct{ Verb, Group, Resource, Subresource, Namespace, Name string }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return true
		}
		a := review.Spec.ResourceAttributes
		right := target.Right{Verb: a.Verb, Group: a.Group, Resource: a.Resource, Namespace: a.Namespace, Name: a.Name}
		allowed := lacks == nil || !lacks(right)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{"status": map[string]any{"allowed": allowed}})
		return true
	})
}

// manager knows the service of the agent.
type manager struct{ unit machine.Unit }

func (m manager) Unit(context.Context, string) (machine.Unit, bool) {
	return m.unit, m.unit.State != ""
}

// alone fails unless the one fault, and nothing else, is named. The way to the parent is left out:
// it has tests of its own. The empty fault is that all is well.
func alone(t *testing.T, cfg Config, check, fault string) doctor.Finding {
	t.Helper()
	var checks []doctor.Check
	for _, c := range Site(cfg) {
		if !strings.HasPrefix(c.Name, "parent.") {
			checks = append(checks, c)
		}
	}
	return doctortest.Alone(t, checks, check, fault)
}

func TestAllIsWell(t *testing.T) {
	cfg, api := joined(t)
	alone(t, cfg, "", "")
	if n := len(api.Writes()); n > 0 {
		t.Errorf("it has written to the target %d times", n)
	}
	cfg.DataDir = filepath.Join(t.TempDir(), "not-yet")
	alone(t, cfg, "", "")
}

func TestTarget(t *testing.T) {
	cfg, api := joined(t)
	api.Instead(&targettest.Refusal{Code: http.StatusUnauthorized, Reason: "Unauthorized", Message: "Unauthorized"})
	alone(t, cfg, "target.api", "target-unauthorized")
	api.Instead(&targettest.Refusal{Code: http.StatusOK, Message: "<html>It works!</html>"})
	alone(t, cfg, "target.api", "target-not-kubernetes")
	for code, fault := range map[int]string{http.StatusTooManyRequests: "target-overloaded",
		http.StatusInternalServerError: "target-failing", http.StatusServiceUnavailable: "target-failing"} {
		api.Instead(&targettest.Refusal{Code: code, Reason: "X", Message: "leader changed"})
		if f := alone(t, cfg, "target.api", fault); !strings.Contains(f.Why, "leader changed") {
			t.Errorf("%d: %+v", code, f)
		}
	}
	api.Instead(nil)
	api.Down(true)
	alone(t, cfg, "target.api", "target-unreachable")
	api.Down(false)
	cfg.Target, cfg.TargetErr = nil, os.ErrNotExist
	alone(t, cfg, "target.api", "kubeconfig-unusable")
	cfg.NoTarget = true
	alone(t, cfg, "", "")
}

func TestTargetVersion(t *testing.T) {
	cfg, api := joined(t)
	for version, fault := range map[string]string{"v1.24.17+k3s1": "target-too-old", "v1.25.0": "", "v2.0.0": ""} {
		api.Handle(func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/version" {
				return false
			}
			_ = json.NewEncoder(w).Encode(map[string]string{"gitVersion": version})
			return true
		})
		alone(t, cfg, "target.version", fault)
	}
}

// Which right is missing is named, be it one of the manifest's or that to see anything.
func TestTargetForbidden(t *testing.T) {
	cfg, api := joined(t)
	allow(api, func(r target.Right) bool { return r.Verb == "bind" })
	f := alone(t, cfg, "target.rights", "target-forbidden")
	if !strings.Contains(f.Why, "bind clusterroles.rbac.authorization.k8s.io/skerry-space;") {
		t.Error(f.Why)
	}
	allow(api, func(r target.Right) bool { return r.Verb == "impersonate" && r.Namespace == "skerry-spaces" })
	if f := alone(t, cfg, "target.rights", "target-forbidden"); !strings.HasSuffix(f.Why, "impersonate serviceaccounts in skerry-spaces") {
		t.Error(f.Why)
	}
	cfg.Impersonate = false
	allow(api, func(r target.Right) bool { return r.Verb == "create" && r.Resource == "deployments" })
	if f := alone(t, cfg, "target.rights", "target-forbidden"); !strings.Contains(f.Why, "create deployments.apps") {
		t.Error(f.Why)
	}
}

func TestStore(t *testing.T) {
	cfg, _ := joined(t)
	path := filepath.Join(cfg.DataDir, agent.StoreFile)
	file, err := bolt.Open(path, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	alone(t, cfg, "", "") // the agent runs
	cfg.Units = manager{machine.Unit{State: "activating", Process: 1}}
	if f := alone(t, cfg, "agent.store", "already-running"); !strings.Contains(f.Why, "process ") {
		t.Errorf("%+v", f)
	}
	cfg.Units = manager{machine.Unit{State: "active", Process: os.Getpid()}}
	alone(t, cfg, "", "")
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.Repeat([]byte("garbage "), 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(path)
	alone(t, cfg, "agent.store", "store-damaged")
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("looking has changed it")
	}
}

// A file of a newer version, and one whose key is another one now.
func TestStoreOfOthers(t *testing.T) {
	cfg, _ := joined(t)
	path := filepath.Join(cfg.DataDir, agent.StoreFile)
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket([]byte("meta")).Put([]byte("format"), []byte{0, 0, 0, bolt.Format + 1})
	}), db.Close())
	if err != nil {
		t.Fatal(err)
	}
	if f := alone(t, cfg, "agent.store", "store-newer"); !strings.Contains(f.Why, "newer") {
		t.Errorf("%+v", f)
	}

	cfg, _ = joined(t)
	if err := os.WriteFile(filepath.Join(cfg.DataDir, "seal.keys"), []byte("not a key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if f := alone(t, cfg, "agent.store", "store-keys"); !strings.Contains(f.Fix, "restore the key's file") {
		t.Errorf("%+v", f)
	}
}

// The cluster answers with the certificate of somebody else.
func TestTargetCertificate(t *testing.T) {
	cfg, _ := joined(t)
	other := httptest.NewUnstartedServer(http.NotFoundHandler())
	other.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	other.StartTLS()
	t.Cleanup(other.Close)
	cfg.Target = target.Cluster(&rest.Config{Host: other.URL}) // which trusts the machine's authorities
	if f := alone(t, cfg, "target.api", "target-certificate"); !strings.Contains(f.Why, "certificate") {
		t.Errorf("%+v", f)
	}
}

func TestIdentity(t *testing.T) {
	cfg, _ := joined(t)
	if err := os.WriteFile(filepath.Join(cfg.DataDir, "agent.key"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if f := alone(t, cfg, "agent.identity", "identity-damaged"); strings.Contains(f.Why, "half") {
		t.Errorf("it shows the key: %s", f.Why)
	}
}

func TestDirectoryOfACenter(t *testing.T) {
	cfg, _ := joined(t)
	cfg.DataDir = filepath.Join(t.TempDir(), "center")
	if err := os.MkdirAll(filepath.Join(cfg.DataDir, "pki"), 0o700); err != nil {
		t.Fatal(err)
	}
	alone(t, cfg, "agent.identity", "directory-of-center")
}

func TestStatus(t *testing.T) {
	cfg, _ := joined(t)
	now := time.Now().UTC()
	condition := func(kind, reason string) agent.Status {
		return agent.Status{Conditions: []tunnel.Condition{
			{Type: tunnel.TargetReachable, Status: tunnel.True}, // a check of its own
			{Type: kind, Status: tunnel.False, Reason: reason, Message: "seen"}}}
	}
	for name, c := range map[string]struct {
		said  agent.Status
		fault string
	}{
		"held":         {condition(tunnel.CenterTrusted, tunnel.CenterRegressed), "center-regressed"},
		"deletions":    {condition(tunnel.CenterTrusted, tunnel.DeletionsHeld), "deletions-held"},
		"certificate":  {condition(tunnel.CertificateValid, "X"), "certificate-not-renewed"},
		"refilling":    {condition(tunnel.StoreHealthy, "Refilling"), "store-refilling"},
		"full disk":    {condition(tunnel.StoreHealthy, "DiskRefuses"), ""}, // machine.disk
		"cluster":      {condition(tunnel.ClusterUnchanged, "X"), "cluster-replaced"},
		"lease":        {condition(tunnel.LeaseHeld, "Ended"), "lease-ended"},
		"two agents":   {agent.Status{Replaced: []time.Time{now, now}, Ended: tunnel.ErrReplaced.Error()}, "two-agents"},
		"one restart":  {agent.Status{Replaced: []time.Time{now}}, ""},
		"long ago":     {agent.Status{Replaced: []time.Time{now, now.Add(-time.Hour)}}, ""},
		"refused":      {agent.Status{At: now.Add(-time.Minute), Ended: "the parent refused the session: Busy: x"}, "session-refused"},
		"just started": {agent.Status{At: now, Ended: "the parent refused the session: Busy: x"}, ""},
		"protocol": {agent.Status{At: now.Add(-time.Minute), Ended: (&tunnel.Refused{Reason: "Dictionary"}).Error()},
			"version-skew-protocol"},
	} {
		says(t, cfg, c.said)
		t.Run(name, func(t *testing.T) { alone(t, cfg, "agent.status", c.fault) })
	}
}
