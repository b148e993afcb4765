package admin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// fleetCenter answers as a center with some sites, two a page, and tells watchers of changes.
type fleetCenter struct {
	mu      sync.Mutex
	expires int      // so many times the second page is too old
	sites   []string // as JSON
	changes chan string
}

func siteJSON(name, connected string) string {
	return fmt.Sprintf(`{"apiVersion":"skerry.dev/v1alpha1","kind":"SyncTarget","metadata":{"name":%q,
		"creationTimestamp":"2026-01-02T03:04:05Z"},"status":{"lastSeen":"2026-01-02T03:05:05Z","objects":3,"applied":3,"conditions":[
		{"type":"Connected","status":%q,"reason":"NoSession","message":"no session. On the site see: its log"}],
		"moves":[{"object":"shop/core/namespaces/_/web","from":["a"],"to":["b"],"phase":"Waiting","message":"b is late"}]}}`,
		name, connected)
}

func (c *fleetCenter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	list := func(kind, version string, items []string, more string) {
		fmt.Fprintf(w, `{"apiVersion":%q,"kind":"%sList","metadata":{"resourceVersion":"7","continue":%q},"items":[%s]}`,
			version, kind, more, strings.Join(items, ","))
	}
	switch path := r.URL.Path; {
	case r.URL.Query().Get("watch") != "":
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		for {
			select {
			case <-r.Context().Done():
				return
			case text := <-c.changes:
				fmt.Fprintln(w, strings.Join(strings.Fields(text), " "))
				w.(http.Flusher).Flush()
			}
		}
	case strings.HasSuffix(path, "/synctargets"):
		c.mu.Lock()
		defer c.mu.Unlock()
		if name, one := strings.CutPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name="); one {
			list("SyncTarget", "skerry.dev/v1alpha1", slices.DeleteFunc(slices.Clone(c.sites), func(s string) bool {
				return !strings.Contains(s, `"name":"`+name+`"`)
			}), "")
		} else if from := r.URL.Query().Get("continue"); from != "" && c.expires > 0 {
			c.expires--
			w.WriteHeader(http.StatusGone)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`)
		} else if from != "" {
			list("SyncTarget", "skerry.dev/v1alpha1", c.sites[2:], "")
		} else if len(c.sites) > 2 {
			list("SyncTarget", "skerry.dev/v1alpha1", c.sites[:2], "next")
		} else {
			list("SyncTarget", "skerry.dev/v1alpha1", c.sites, "")
		}
	case strings.HasSuffix(path, "/spaces"):
		list("Space", "skerry.dev/v1alpha1", []string{`{"apiVersion":"skerry.dev/v1alpha1","kind":"Space",
			"metadata":{"name":"shop"},"status":{"conditions":[{"type":"WithinQuota","status":"False","message":"9 of 9"}]}}`}, "")
	case strings.HasPrefix(path, "/clusters/shop/") && r.URL.Query().Get("fieldSelector") == "reason=Moved":
		list("Event", "v1", []string{`{"apiVersion":"v1","kind":"Event","metadata":{"name":"e","namespace":"default"},
			"involvedObject":{"apiVersion":"v1","kind":"Namespace","name":"old"},"reason":"Moved",
			"message":"ready on b, left a","lastTimestamp":"2026-01-02T03:04:05Z"}`}, "")
	case strings.HasSuffix(path, "/events"):
		list("Event", "v1", nil, "")
	case path == "/readyz":
		fmt.Fprint(w, "ok")
	default:
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
	}
}

func TestStatusViews(t *testing.T) {
	c := &fleetCenter{sites: []string{siteJSON("a", "True"), siteJSON("b", "True"), siteJSON("paris", "False")}}
	for line, want := range map[string][]string{
		"status": {"a True Unknown cluster - 3 3 0 now", "paris is not connected: no session. On the site see: its log",
			"shop/core/namespaces/_/web moves from a to b (Waiting): b is late"},
		"status paris":          {"Site paris (cluster), joined", "Objects 3 desired: 3 applied", "do: on the site see: its log"},
		"status paris -o json":  {`"kind": "SyncTarget"`, `"name": "paris"`},
		"status paris -o name":  {"synctarget.skerry.dev/paris"},
		"status -o name":        {"synctarget.skerry.dev/a synctarget.skerry.dev/b synctarget.skerry.dev/paris"},
		"status -o json":        {`"kind": "SyncTargetList"`, `"name": "paris"`},
		"status --tree":         {"center ok 2/3 -", "└─ paris cluster not connected (NoSession)"},
		"status --tree -o yaml": {"kind: center", "state: not connected"},
		"status --problems": {"paris is not connected: no session do: on the site see: its log",
			"space shop has used up its quota: 9 of 9 do: delete objects there, or raise spec.quota"},
		"status --problems -o json": {`"site": "paris"`, `"do": "on the site see: its log"`, `"space": "shop"`},
		"status --moves": {"shop/core/namespaces/_/web a b Waiting - b is late",
			"shop/core/namespaces/_/old a b Moved"},
		"status --moves -o json":       {`"object": "shop/core/namespaces/_/old"`, `"ended": true`},
		"status --moves --space bank":  {`there is no space "bank"`},
		"status nowhere":               {`there is no site "nowhere"; see them with: skerry status`},
		"status paris/store":           {"paris/store is below the relay paris", "skerry status store"},
		"status --tree --moves":        {"--tree and --moves: give one of them"},
		"status paris --tree":          {`--tree shows all sites: leave out "paris"`},
		"status --moves -o name":       {"--moves has no names; use table, json or yaml"},
		"status --space shop":          {"--space goes with --moves alone"},
		"target list":                  {"paris False Unknown"},
		"target list -o json":          {`"name": "paris"`},
		"status paris -o nosuch":       {`-o "nosuch": use table`},
		"status --problems -o nosuch ": {`-o "nosuch": use table`},
	} {
		out, err := command(t, c.ServeHTTP, line)
		got := strings.Join(strings.Fields(out+" "+text(err)), " ")
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("skerry %s\n got %s\nwant %s", line, got, w)
			}
		}
		if wrong := strings.Contains(line, "--problems") && !strings.Contains(line, "nosuch"); wrong != errors.Is(err, ErrProblems) {
			t.Errorf("skerry %s: %v", line, err)
		}
	}
	for _, line := range []string{"target list", "target list -o name"} {
		c.expires = 2
		out, err := command(t, c.ServeHTTP, line)
		if n := strings.Count(out, "paris"); err != nil || n != 1 || strings.Count(out, "\n") > 4 {
			t.Errorf("skerry %s, with pages that are too old: %v\n%s", line, err, out)
		}
	}
	if _, err := command(t, http.NotFound, "status"); !strings.Contains(text(err), "is no Skerry center") {
		t.Errorf("of something else: %v", err)
	}
	for code, want := range map[int]string{401: "they have ended or were revoked",
		403: "for a space ask one of its cluster-admins", 429: "try again in a moment", 503: "journalctl -u skerry-center"} {
		_, err := command(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			reason := map[int]string{401: "Unauthorized", 403: "Forbidden", 429: "TooManyRequests", 503: "ServiceUnavailable"}[code]
			fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,
				"message":"User x cannot list resource"}`, reason, code)
		}, "status")
		if got := text(Plain(err)); !strings.Contains(got, want) {
			t.Errorf("%d: %s, want %s", code, got, want)
		}
	}
	if out, err := command(t, (&fleetCenter{}).ServeHTTP, "status"); err != nil || strings.TrimSpace(out) != noSites {
		t.Errorf("without sites: %v\n%s", err, out)
	}
}

// lines collects what a watch writes.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) await(t *testing.T, want string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		l.mu.Lock()
		got := l.buf.String()
		l.mu.Unlock()
		if strings.Contains(got, want) {
			return
		} else if time.Now().After(end) {
			t.Fatalf("it never says %q:\n%s", want, got)
		}
	}
}

// A watch writes a line for each change, says when the center is away, goes on with it, and ends
// without an error.
func TestStatusWatch(t *testing.T) {
	c := &fleetCenter{sites: []string{siteJSON("a", "True")}, changes: make(chan string)}
	server := httptest.NewServer(c)
	defer server.Close()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(`{"apiVersion":"v1","kind":"Config","current-context":"root",
		"clusters":[{"name":"c","cluster":{"server":"`+server.URL+`"}}],
		"contexts":[{"name":"root","context":{"cluster":"c"}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, output := range []string{"", "json"} {
		ctx, cancel := context.WithCancel(t.Context())
		var out, problems lines
		ended := make(chan error, 1)
		go func() {
			ended <- Status(ctx, StatusOptions{ListOptions: ListOptions{Kubeconfig: kubeconfig, Output: output, Out: &out},
				Err: &problems, Watch: true})
		}()
		first, second := "Z a  True  Unknown", "Z a  False  Unknown"
		if output == "json" {
			first, second = `"status":"True"`, `"status":"False"`
		}
		out.await(t, first)
		c.changes <- `{"type":"MODIFIED","object":` + siteJSON("a", "False") + `}`
		out.await(t, second)
		c.mu.Lock()
		c.sites = []string{siteJSON("a", "False"), siteJSON("late", "True")}
		c.mu.Unlock()
		server.CloseClientConnections()
		out.await(t, "late")
		if output == "" {
			out.await(t, "Z a is not connected: no session. On the site see: its log\n")
		}
		cancel()
		if err := <-ended; err != nil || strings.Contains(problems.buf.String(), "context canceled") {
			t.Errorf("-o %q: the watch ends with %v", output, err)
		}
		c.sites = []string{siteJSON("a", "True")}
	}
	gone := StatusOptions{ListOptions: ListOptions{Kubeconfig: kubeconfig, Out: &lines{}}, Err: &lines{}, Site: "nowhere", Watch: true}
	if err := Status(t.Context(), gone); err == nil {
		t.Error("a site that is not there is waited for")
	}
	server.Close()
	if err := Status(t.Context(), gone); Plain(err) == nil || !strings.Contains(Plain(err).Error(), "cannot reach center") {
		t.Errorf("a center that is away at the start: %v", err)
	}
}

func TestTakeRefusesOtherObjects(t *testing.T) {
	if err := take(map[string]v1alpha1.SyncTarget{}, wrongEvent()); err == nil {
		t.Error("something else than a site is taken for one")
	}
}

func wrongEvent() watch.Event { return watch.Event{Type: watch.Added, Object: &v1alpha1.SyncTarget{}} }
