package admin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/tunnel/commandline"
)

// command runs a command line against a center whose API is answered by serve.
func command(t *testing.T, serve http.HandlerFunc, line string) (string, error) {
	t.Helper()
	center := httptest.NewServer(serve)
	defer center.Close()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(`{"apiVersion":"v1","kind":"Config","current-context":"root",
		"clusters":[{"name":"c","cluster":{"server":"`+center.URL+`"}}],
		"contexts":[{"name":"root","context":{"cluster":"c"}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	app := &cli.App{Name: "skerry", Writer: &out, ExitErrHandler: func(*cli.Context, error) {},
		Commands: []*cli.Command{SpaceCommand(), StatusCommand(), TargetCommand(), RenderCommand(),
			ExplainCommand(), RebalanceCommand(), RolloutCommand(), TraceCommand()}}
	err := app.RunContext(context.Background(),
		commandline.FlagsFirst(app, append(strings.Fields("skerry "+line), "--kubeconfig", kubeconfig)))
	return out.String(), err
}

func TestListFormats(t *testing.T) {
	serve := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		kind, status := "Space", `{"usage":{"objects":7}}`
		switch {
		case strings.HasSuffix(r.URL.Path, "synctargets"):
			kind, status = "SyncTarget", `{"agentVersion":"1.2.3"}`
		case !strings.HasSuffix(r.URL.Path, "spaces"):
			http.NotFound(w, r)
			return
		}
		if r.URL.Query().Get("labelSelector") == "tier=none" {
			fmt.Fprintf(w, `{"apiVersion":"skerry.dev/v1alpha1","kind":"%sList","metadata":{},"items":[]}`, kind)
			return
		}
		fmt.Fprintf(w, `{"apiVersion":"skerry.dev/v1alpha1","kind":"%[1]sList","metadata":{},"items":[
			{"apiVersion":"skerry.dev/v1alpha1","kind":"%[1]s","metadata":{"name":"one"},"status":%[2]s}]}`, kind, status)
	}
	for line, want := range map[string]string{
		"space list":               "NAME READY URL AGE one Unknown <unknown>",
		"space list -o table":      "NAME READY URL AGE one Unknown <unknown>",
		"space list -o wide":       "NAME READY URL AGE OBJECTS DELETION-POLICY one Unknown <unknown> 7 Retain",
		"space list -o name":       "space.skerry.dev/one",
		"target list -o name":      "synctarget.skerry.dev/one",
		"target list":              "NAME CONNECTED SYNCED KIND BELOW DESIRED APPLIED REFUSED LAST-SEEN VERSION TRANSPORT one",
		"target list -o wide":      "TRANSPORT AGENT LINK DOWN-TODAY UP-TODAY PENDING one Unknown Unknown cluster - 0 0 0 never 1.2.3 lan",
		"target list -o json":      `"kind": "SyncTargetList"`,
		"target list -o yaml":      "kind: SyncTargetList",
		"status -o table":          "one is not connected: its agent has not dialled yet",
		"space list -l tier=none":  `No space has labels that match "tier=none". All spaces: skerry space list`,
		"target list -l tier=none": `No site has labels that match "tier=none". All sites: skerry target list`,
		"status -l tier=none":      `No site has labels that match "tier=none"`,
		"status one -l a=b":        `-l selects among all sites: leave out "one"`,
		"status -l a==b==c":        "write a label selector, such as region=eu,tier!=edge",
		"space list -l ,":          "write a label selector",
		"render web":               "name one object as RESOURCE/NAME, such as deployment/web; see: skerry render --help",
		"render a/b/c":             "name one object as RESOURCE/NAME",
		"explain placement web":    "name one object as RESOURCE/NAME, such as deployment/web; see: skerry explain placement --help",
		"rebalance -o wide":        `-o "wide": use json or yaml`,
		"target drain one -o name": `-o "name": use json or yaml`,
		"space list -o nosuch":     `-o "nosuch": use table, wide, json, yaml or name`,
		"target list -o xml":       `-o "xml": use table, wide, json, yaml or name`,
	} {
		out, err := command(t, serve, line)
		if err != nil && !errors.Is(err, ErrUsage) {
			t.Errorf("skerry %s: %v", line, err)
		}
		if got := strings.Join(strings.Fields(out+text(err)), " "); !strings.Contains(got, want) {
			t.Errorf("skerry %s\n got %s\nwant %s", line, got, want)
		}
	}
	if out, _ := command(t, serve, "target list"); strings.Contains(out, "is not connected") {
		t.Errorf("target list says what is wrong:\n%s", out)
	}
	tokens := []Token{{ID: "abc", Expires: time.Now().Add(time.Hour), Labels: map[string]string{"tier": "edge"}}}
	for output, want := range map[string]string{"name": "abc\n", "wide": "tier=edge", "yaml": "- expires:", "json": `"id": "abc"`} {
		var out bytes.Buffer
		if err := PrintTokens(&out, output, tokens); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("token list -o %s: %v\n%s", output, err, &out)
		}
	}
	if err := PrintTokens(io.Discard, "xml", tokens); !errors.Is(err, ErrUsage) {
		t.Errorf("token list -o xml: %v", err)
	}
}

func TestCreateSpaceThatExists(t *testing.T) {
	for deleted, want := range map[string]string{
		"null":                   `space "shop" exists already; use it with: skerry space use shop`,
		`"2026-01-01T00:00:00Z"`: `space "shop" is still being deleted: 3 objects are left; create it when it is gone`,
	} {
		out, err := command(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.Method == http.MethodPost {
				w.WriteHeader(http.StatusConflict)
				fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"AlreadyExists","code":409}`)
				return
			}
			fmt.Fprintf(w, `{"apiVersion":"skerry.dev/v1alpha1","kind":"Space","metadata":{"name":"shop",
				"deletionTimestamp":%s},"status":{"conditions":[{"type":"Deleting","status":"False",
				"message":"3 objects are left"}]}}`, deleted)
		}, "space create shop")
		if got := out + text(err); !strings.Contains(got, want) {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}

func TestDeleteSpace(t *testing.T) {
	for _, x := range []struct {
		line, policy, want string
		deletes            int
	}{
		{"space delete shop", "Delete", "not a terminal: add --yes or --dry-run", 0},
		{"space delete root --yes", "Delete", "root is the admin's own space", 0},
		{"space delete nosuch --yes", "Delete", `there is no space "nosuch"; see them with: skerry space list`, 0},
		{"space delete shop --dry-run", "Delete", "goes with its 7 objects, and what runs of them at sites", 1},
		{"space delete shop --dry-run", "Retain", `goes once its users' objects are deleted (deletionPolicy Retain)`, 1},
		{"space delete shop --yes", "Delete", "space.skerry.dev/shop deleted", 1},
		{"space delete shop --yes --wait 0", "Delete", "space.skerry.dev/shop is being deleted", 1},
		{"space delete shop --yes --wait 100ms", "Retain", "is not deleted after 100ms: 3 objects are left", 1},
	} {
		var mu sync.Mutex
		deletes, gone := 0, false
		out, err := command(t, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			w.Header().Set("Content-Type", "application/json")
			if !strings.HasSuffix(r.URL.Path, "/spaces/shop") || gone {
				w.WriteHeader(http.StatusNotFound)
				fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
				return
			}
			if r.Method == http.MethodDelete {
				deletes++
				body, _ := io.ReadAll(r.Body)
				dry := bytes.Contains(body, []byte(`"dryRun":["All"]`))
				if dry != strings.Contains(x.line, "--dry-run") || !bytes.Contains(body, []byte(`"uid":"u1"`)) {
					t.Errorf("skerry %s deletes with %s", x.line, body)
				}
				gone = !dry && x.policy == "Delete"
			}
			fmt.Fprintf(w, `{"apiVersion":"skerry.dev/v1alpha1","kind":"Space","metadata":{"name":"shop","uid":"u1"},
				"spec":{"deletionPolicy":%q},"status":{"usage":{"objects":7},
				"conditions":[{"type":"Deleting","status":"False","message":"3 objects are left"}]}}`, x.policy)
		}, x.line)
		if got := out + text(err); !strings.Contains(got, x.want) || deletes != x.deletes {
			t.Errorf("skerry %s (%s): %d deletions\n got %s\nwant %s", x.line, x.policy, deletes, got, x.want)
		}
	}
}
