package view

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel/exchange"
)

// shorter is the answer to a request that names a resource and a limit, when the cluster says text.
func shorter(t *testing.T, text string, options ...string) (*http.Response, string, error) {
	t.Helper()
	a := &asked{Request: view("shop", "web", options...), resource: target.Resource{Version: "v1", Plural: "pods"}}
	resp, err := a.bounded(answer(plain, []byte(text)))
	if err != nil {
		return nil, "", err
	}
	body, err := io.ReadAll(resp.Body)
	return resp, string(body), err
}

const twoPods = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"next"},` +
	`"items":[{"metadata":{"name":"one"}},{"metadata":{"name":"two","annotations":{"long":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx` +
	`xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}}}]}`

// TestLimit: a list is cut behind an object, says so, and does not look as if it went on or were
// whole; what fits is as it was.
func TestLimit(t *testing.T) {
	for _, limit := range []string{"", "100000"} {
		options := []string{"limitBytes", limit}
		if limit == "" {
			options = nil
		}
		if resp, body, err := shorter(t, twoPods, options...); err != nil || body != twoPods ||
			exchange.Warnings(resp.Header) != nil {
			t.Errorf("limit %q: %s: %v", limit, body, err)
		}
	}
	resp, body, err := shorter(t, twoPods, "limitBytes", "150")
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Kind     string
		Metadata map[string]any
		Items    []struct{ Metadata struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil || list.Kind != "PodList" || len(list.Items) != 1 ||
		list.Items[0].Metadata.Name != "one" || len(body) > 150 {
		t.Errorf("%s: %v", body, err)
	}
	if list.Metadata["continue"] != nil || list.Metadata["resourceVersion"] != nil ||
		list.Metadata["remainingItemCount"] != float64(1) {
		t.Errorf("metadata %v", list.Metadata)
	}
	if w := exchange.Warnings(resp.Header); len(w) != 1 || !strings.HasPrefix(w[0], "1 of more than 2 pods are shown") {
		t.Errorf("warnings %q", w)
	}
	rows := strings.Replace(strings.Replace(twoPods, `"items"`, `"columnDefinitions":[],"rows"`, 1), "PodList", "Table", 1)
	if _, body, err := shorter(t, rows, "limitBytes", "200"); err != nil ||
		!strings.Contains(body, `"rows":[{"metadata":{"name":"one"}}]`) {
		t.Errorf("a table: %s: %v", body, err)
	}
	if _, body, err := shorter(t, twoPods, "limitBytes", "1"); err != nil || !strings.Contains(body, `"items":[]`) {
		t.Errorf("nothing fits: %s: %v", body, err)
	}
	for what, text := range map[string]string{"an object": twoPods,
		"no list": `{"kind":"PodList"}` + strings.Repeat(" ", 200)} {
		options := []string{"limitBytes", "10"}
		if what == "an object" {
			options = append(options, "name", "one")
		}
		if _, body, err := shorter(t, text, options...); exchange.FaultOf(err).Code != 413 {
			t.Errorf("%s: %s: %v", what, body, err)
		}
	}
}

// TestLimitedWatch: a watch ends with whole events, and with one that says why.
func TestLimitedWatch(t *testing.T) {
	event := `{"type":"ADDED","object":{"metadata":{"name":"` + strings.Repeat("x", 5000) + `"}}}` + "\n"
	_, body, err := shorter(t, strings.Repeat(event, 5), "watch", "true", "limitBytes", "16000")
	lines := strings.Split(strings.TrimSuffix(body, "\n"), "\n")
	if err != nil || len(lines) != 4 || lines[2]+"\n" != event {
		t.Fatalf("%d lines: %v", len(lines), err)
	}
	var last struct {
		Type   string
		Object struct {
			Kind, Message string
			Code          int
		}
	}
	if err := json.Unmarshal([]byte(lines[3]), &last); err != nil || last.Type != "ERROR" ||
		last.Object.Kind != "Status" ||
		last.Object.Code != 413 || !strings.Contains(last.Object.Message, "15 KiB") {
		t.Errorf("the last event %s: %v", lines[3], err)
	}
	if _, body, err := shorter(t, event+event, "watch", "true", "limitBytes", "16000"); err != nil || body != event+event {
		t.Errorf("a short watch: %d bytes, %v", len(body), err)
	}
	resp, body, err := shorter(t, event+event[:50], "watch", "true", "limitBytes", "16000")
	if n, again := resp.Body.Read(make([]byte, 100)); err != nil || body != event || n > 0 || again != io.EOF {
		t.Errorf("a watch that breaks off: %d bytes, %v; then %d, %v", len(body), err, n, again)
	}
}

// TestLimitedViews: what a whole site answers keeps its limits, too.
func TestLimitedViews(t *testing.T) {
	for name, c := range map[string]struct {
		request *exchange.Request
		code    int
		warning string
	}{
		"all namespaces": {pods("shop", "", "limitBytes", "250"), 200,
			"2 of 4 pods are shown: the list is cut after 0 KiB, because a link is metered; ask for less (-n, -l); namespace lent was there"},
		"one":         {pods("shop", "web", "limitBytes", "100"), 200, "of more than 1 pods are shown"},
		"a document":  {view("shop", "", "document", "apis", "limitBytes", "10"), 413, ""},
		"a small one": {view("shop", "", "document", "openapi/v3", "limitBytes", "100"), 200, ""},
		"one object":  {pods("shop", "web", "name", "one", "limitBytes", "10"), 413, ""},
	} {
		for _, prefix := range []string{"", "shop-"} {
			t.Run(name+" "+prefix, func(t *testing.T) {
				resp, err := newCluster(t, prefix).site(t).Answer(t.Context(), c.request)
				if err != nil {
					if f := exchange.FaultOf(err); f.Code != c.code {
						t.Errorf("%d: %s", f.Code, f.Message)
					}
					return
				}
				defer resp.Body.Close()
				text, err := io.ReadAll(resp.Body)
				warnings := strings.Join(exchange.Warnings(resp.Header), "; ")
				if err != nil || c.code != 200 || !strings.Contains(warnings, c.warning) {
					t.Errorf("%q, %s: %v", warnings, text, err)
				}
			})
		}
	}
}
