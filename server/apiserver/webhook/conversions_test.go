package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/tunnel/exchange"
)

// converts answers as a converter whose objects say which version of it has converted them.
func converts(by string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var review conversionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		out := &conversionResponse{UID: review.Request.UID, Result: json.RawMessage(`{"status":"Success"}`)}
		for _, o := range review.Request.Objects {
			if strings.Contains(string(o), "bad") {
				out.Result = json.RawMessage(`{"status":"Failure","message":"it is bad"}`)
			}
			out.ConvertedObjects = append(out.ConvertedObjects, json.RawMessage(
				fmt.Sprintf(`{"by":%q,"of":%s,"to":%q}`, by, o, review.Request.DesiredAPIVersion),
			))
		}
		review.Request, review.Response = nil, out
		_ = json.NewEncoder(w).Encode(review)
	}
}

func converterOf(t *testing.T, c *Callers, of Service) *rest.RESTClient {
	t.Helper()
	return upstream(t, c, c.Converters(of.Space), of, "/convert", bundle)
}

// convert has objects converted, and returns them as JSON with the result behind.
func convert(ctx context.Context, c *rest.RESTClient, uid, to string, objects ...string) (string, error) {
	text, err := call(ctx, c, fmt.Sprintf(
		`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":%q,`+
			`"desiredAPIVersion":%q,"objects":[%s]}}`, uid, to, strings.Join(objects, ","),
	))
	if err != nil {
		return "", err
	}
	var review conversionReview
	if err := json.Unmarshal([]byte(text), &review); err != nil || review.Response == nil ||
		review.Response.UID != uid || review.Kind != "ConversionReview" {
		return "", fmt.Errorf("%s: %v", text, err)
	}
	out, err := json.Marshal(review.Response.ConvertedObjects)
	return string(out) + string(review.Response.Result), err
}

const success = `{"status":"Success"}`

func one(by, of, to string) string {
	return fmt.Sprintf(`{"by":%q,"of":%s,"to":%q}`, by, of, to)
}

// TestConversionsAreKept: what was converted is not sent again, and of a list only the rest is.
func TestConversionsAreKept(t *testing.T) {
	s := newSites(t)
	s.runs(shopHook, "oslo", "hook-1", 0, converts("v1"))
	c := converterOf(t, s.callers(), shopHook)
	for i, r := range []struct {
		to      string
		objects []string
		calls   int
	}{
		{"e/v2", []string{`{"a":1}`}, 1},
		{"e/v2", []string{`{"a":1}`}, 1},
		{"e/v2", []string{`{"a":2}`, `{"a":1}`, `{"a":3}`}, 2},
		{"e/v2", []string{`{"a":3}`, `{"a":3}`, `{"a":2}`}, 2},
		{"e/v3", []string{`{"a":1}`}, 3},
		{"e/v2", []string{`{"a":4}`, `{"a":4}`}, 4},
	} {
		var want []string
		for _, o := range r.objects {
			want = append(want, one("v1", o, r.to))
		}
		got, err := convert(t.Context(), c, fmt.Sprint("r-", i), r.to, r.objects...)
		if err != nil || got != "["+strings.Join(want, ",")+"]"+success {
			t.Errorf("%d: %s, %v", i, got, err)
		}
		if n := s.calls("oslo", "hook-1"); n != r.calls {
			t.Errorf("%d: %d calls, want %d", i, n, r.calls)
		}
	}
}

// TestConversionsOfOthers: a failure is the webhook's to tell, and is not kept.
func TestConversionFailures(t *testing.T) {
	s := newSites(t)
	s.runs(shopHook, "oslo", "hook-1", 0, converts("v1"))
	c := converterOf(t, s.callers(), shopHook)
	for range 2 {
		if got, err := convert(t.Context(), c, "r", "e/v2", `{"a":1}`, `{"bad":1}`); err != nil ||
			!strings.Contains(got, "it is bad") {
			t.Errorf("%s, %v", got, err)
		}
	}
	if n := s.calls("oslo", "hook-1"); n != 2 {
		t.Errorf("%d calls", n)
	}
	s.faults["oslo"] = &exchange.Fault{Code: 503, Message: "no session"}
	s.pods["oslo/hook-1"].server.CloseClientConnections()
	if _, err := convert(t.Context(), c, "r", "e/v2", `{"a":1}`); err == nil ||
		!strings.Contains(err.Error(), "no session") {
		t.Errorf("away: %v", err)
	}
	delete(s.faults, "oslo")
	if got, err := convert(t.Context(), c, "r", "e/v2", `{"a":1}`); err != nil ||
		got != "["+one("v1", `{"a":1}`, "e/v2")+"]"+success {
		t.Errorf("back again: %s, %v", got, err)
	}
}

// TestConvertedOnce: who wants the same at the same time waits for the one call.
func TestConvertedOnce(t *testing.T) {
	s := newSites(t)
	open, answer := context.WithCancel(t.Context())
	defer answer()
	s.runs(shopHook, "oslo", "hook-1", 0, func(w http.ResponseWriter, r *http.Request) {
		<-open.Done()
		converts("v1")(w, r)
	})
	callers := s.callers()
	c := converterOf(t, callers, shopHook)
	var all sync.WaitGroup
	const others = 19
	for i := range 1 + others {
		all.Go(func() {
			got, err := convert(t.Context(), c, fmt.Sprint("r-", i), "e/v2", `{"a":1}`)
			if err != nil || got != "["+one("v1", `{"a":1}`, "e/v2")+"]"+success {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
	kept := callers.cfg.Metrics.objects.WithLabelValues("kept")
	until(t, "the others wait", func() bool { return testutil.ToFloat64(kept) == others })
	answer()
	all.Wait()
	if n := s.calls("oslo", "hook-1"); n != 1 {
		t.Errorf("%d calls", n)
	}
}

// TestNewConverter: what a Pod has converted does not count when it is not behind the Service any
// more; it does while nobody is known to be.
func TestNewConverter(t *testing.T) {
	s := newSites(t)
	s.runs(shopHook, "oslo", "hook-1", 0, converts("v1"))
	c := converterOf(t, s.callers(), shopHook)
	want := func(by string) {
		t.Helper()
		if got, err := convert(t.Context(), c, "r", "e/v2", `{"a":1}`); err != nil ||
			got != "["+one(by, `{"a":1}`, "e/v2")+"]"+success {
			t.Errorf("%s, %v", got, err)
		}
	}
	want("v1")
	s.behind[shopHook] = nil
	want("v1")
	s.runs(shopHook, "oslo", "hook-2", 0, converts("v2"))
	want("v2")
}

// TestConversionsAreApart: equal objects of two spaces are converted apart.
func TestConversionsAreApart(t *testing.T) {
	s := newSites(t)
	c := s.callers()
	for _, space := range []string{"team", "team-b"} {
		of := Service{space, "web", "hook", 443}
		s.runs(of, "oslo", space+"-1", 0, converts(space))
		for range 2 {
			if got, err := convert(t.Context(), converterOf(t, c, of), "r", "e/v2", `{"a":1}`); err != nil ||
				got != "["+one(space, `{"a":1}`, "e/v2")+"]"+success {
				t.Errorf("%s: %s, %v", space, got, err)
			}
		}
		if n := s.calls("oslo", space+"-1"); n != 1 {
			t.Errorf("%s: %d calls", space, n)
		}
	}
}

// TestConversionKeys: whatever decides the result makes another key.
func TestConversionKeys(t *testing.T) {
	of := func(space, namespace, name string, port int32) *converter {
		return &converter{of: Service{space, namespace, name, port}}
	}
	keys := []conversionKey{
		of("team", "web", "hook", 443).key("/", "v1", "e/v2", []byte("a")),
		of("team-b", "web", "hook", 443).key("/", "v1", "e/v2", []byte("a")),
		of("team", "api", "hook", 443).key("/", "v1", "e/v2", []byte("a")),
		of("team", "web", "other", 443).key("/", "v1", "e/v2", []byte("a")),
		of("team", "web", "hook", 444).key("/", "v1", "e/v2", []byte("a")),
		of("team", "web", "hook", 443).key("/b", "v1", "e/v2", []byte("a")),
		of("team", "web", "hook", 443).key("/", "v1beta1", "e/v2", []byte("a")),
		of("team", "web", "hook", 443).key("/", "v1", "e/v3", []byte("a")),
		of("team", "web", "hook", 443).key("/", "v1", "e/v2", []byte("b")),
	}
	if keys[0].space != "team" || keys[1].space != "team-b" {
		t.Error("a key is of another space")
	}
	for i, k := range keys {
		for j, other := range keys[:i] {
			if k.hash == other.hash {
				t.Errorf("%d and %d have one key", i, j)
			}
		}
	}
}

// TestConversionMemory: a space keeps its share, and all together theirs; the space with the most
// gives way.
func TestConversionMemory(t *testing.T) {
	c := newConversions()
	always := func(Backend) bool { return true }
	put := func(space string, n byte, size int) {
		k := conversionKey{space: space, hash: [32]byte{n}}
		c.take([]conversionKey{k}, always)
		c.put(k, make([]byte, size), Backend{})
	}
	known := func(space string, n byte) bool {
		k := []conversionKey{{space: space, hash: [32]byte{n}}}
		have, mine, _ := c.take(k, always)
		c.fail(k, mine)
		return have[0] != nil
	}
	const most = spaceBytes/2 - entryBytes
	put("a", 1, most)
	put("a", 2, most)
	if !known("a", 1) || !known("a", 2) {
		t.Fatal("less than the share of a space is kept")
	}
	known("a", 1)
	put("a", 3, most)
	if !known("a", 1) || known("a", 2) || !known("a", 3) {
		t.Error("not the least recently used was forgotten")
	}
	put("a", 4, spaceBytes)
	if known("a", 4) || !known("a", 3) {
		t.Error("what is larger than all is kept")
	}
	put("small", 1, 10)
	for _, space := range []string{"b", "c", "d"} {
		put(space, 1, most)
		put(space, 2, most)
	}
	if c.bytes > keptBytes || !known("small", 1) {
		t.Errorf("%d bytes", c.bytes)
	}
	n := 0
	for _, s := range c.spaces {
		n += s.bytes
	}
	if n != c.bytes || len(c.flying) != 0 {
		t.Errorf("%d bytes are counted as %d, %d under way", n, c.bytes, len(c.flying))
	}
}
