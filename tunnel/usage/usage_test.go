package usage

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/exchange"
)

// sites answer views by the name of their target.
type sites map[string]func(context.Context, *exchange.Request) (*http.Response, error)

// Do implements exchange.Sites.
func (s sites) Do(ctx context.Context, target string, r *exchange.Request) (*http.Response, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	answer := s[target]
	if answer == nil {
		return nil, exchange.FaultOf(&exchange.Fault{
			Code: 503, Reason: "ServiceUnavailable", After: 10,
			Message: (&tunnel.Away{Target: target, Since: time.Unix(0, 0), Reason: "it has no session"}).Error(),
		})
	}
	return answer(ctx, r)
}

type answer = func(context.Context, *exchange.Request) (*http.Response, error)

// says answers with a text.
func says(code int, site, text string, warnings ...string) answer {
	return func(context.Context, *exchange.Request) (*http.Response, error) {
		h := http.Header{exchange.HeaderSite: {site}}
		exchange.SetWarnings(h, warnings)
		return &http.Response{StatusCode: code, Header: h, Body: io.NopCloser(strings.NewReader(text))}, nil
	}
}

// using is the metrics of a Pod, as a metrics-server has them.
func using(namespace, name, cpu string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":%q,"labels":{"forged":"yes"}},"timestamp":"2026-01-01T00:00:00Z",`+
		`"window":"30s","containers":[{"name":"app","usage":{"cpu":%q,"memory":"11Mi"}}]}`, name, namespace, cpu)
}

func list(items ...string) string {
	return `{"kind":"PodMetricsList","items":[` + strings.Join(items, ",") + `]}`
}

func pod(target, namespace, name, there string) Pod {
	return Pod{namespace, name, exchange.Place{Target: target, Pod: there, UID: "u"}}
}

var from = &exchange.Request{Space: "shop", User: "vera"}

func brief(r Result) (out []string) {
	for _, m := range r.Pods {
		out = append(out, m.Metadata.Namespace+"/"+m.Metadata.Name+" "+m.Containers[0].Usage["cpu"])
	}
	return out
}

// TestList: Pods get their names in the space, of the right site, and what is of no Pod that was
// asked for there is nobody's.
func TestList(t *testing.T) {
	all := sites{
		"oslo": says(200, "oslo", list(using("web", "a", "1m"), using("web", "b", "2m"), using("bank", "a", "9m"),
			using("web", "a", "8m"))),
		"eu": says(200, "eu/paris", list(using("web", "a", "3m")), "namespace old: not shown"),
	}
	got := List(t.Context(), all, from, []Pod{
		pod("oslo", "web", "a.oslo", "a"), pod("eu", "web", "a.eu", "a"), pod("eu", "web", "b", "b"),
		pod("away", "web", "c", "c"),
	})
	if out := brief(got); !slices.Equal(out, []string{"web/a.eu 3m", "web/a.oslo 1m"}) {
		t.Errorf("metrics %q", out)
	}
	want := []string{
		"away: no metrics of 1 pod: site away cannot be reached: it has no session; last heard of at 1970-01-01T00:00:00Z",
		"site eu/paris: namespace old: not shown",
	}
	if lacks := got.Lacks(); !slices.Equal(lacks, want) {
		t.Errorf("lacks %q", lacks)
	}
	if got.Fault() != nil || !slices.Equal(got.Sites, []string{"eu/paris", "oslo"}) {
		t.Errorf("fault %v, sites %q", got.Fault(), got.Sites)
	}
}

// TestNobodyAnswers: why there is nothing at all is one fault, which names every site.
func TestNobodyAnswers(t *testing.T) {
	refused := says(403, "paris", `{"kind":"Status","reason":"Forbidden","message":"site paris does not allow this"}`)
	both := []Pod{pod("oslo", "web", "a", "a"), pod("paris", "web", "b", "b")}
	f := fault(List(t.Context(), sites{"paris": refused}, from, both))
	if f.Code != 503 || f.After != 10 || !strings.Contains(f.Message, "oslo: no metrics of 1 pod") ||
		!strings.Contains(f.Message, "does not allow this") || !strings.Contains(f.Message, "1970-01-01") {
		t.Errorf("away and refused: %+v", f)
	}
	if f := fault(List(t.Context(), sites{"paris": refused}, from, both[1:])); f.Code != 403 ||
		f.Reason != "Forbidden" || f.After != 0 {
		t.Errorf("refused: %+v", f)
	}
	f = fault(List(t.Context(), sites{"bergen": says(403, "bergen", "")}, from,
		[]Pod{pod("oslo", "web", "a", "a"), pod("bergen", "web", "b", "b")}))
	if f.Code != 503 || f.Reason != "ServiceUnavailable" || f.After != 10 {
		t.Errorf("refused and away: %+v", f)
	}
	for what, answer := range map[string]answer{
		"no JSON": says(200, "paris", "<html>"), "another code": says(204, "paris", ""),
		"no words": says(500, "paris", "oops"),
	} {
		if f := fault(List(t.Context(), sites{"paris": answer}, from, both[1:])); f.Code < 500 ||
			!strings.Contains(f.Message, "site paris") {
			t.Errorf("%s: %+v", what, f)
		}
	}
	if r := List(t.Context(), nil, from, nil); r.Fault() != nil || r.Lacks() != nil {
		t.Errorf("of no pods: %v", r.Fault())
	}
}

func fault(r Result) exchange.Fault {
	if f := r.Fault(); f != nil {
		return *f
	}
	return exchange.Fault{}
}

// TestManyTargets: few are asked side by side, not all are asked, and many that say nothing take
// few words.
func TestManyTargets(t *testing.T) {
	var pods []Pod
	for i := range maxTargets + 30 {
		pods = append(pods, pod(fmt.Sprintf("site-%03d", i), "web", fmt.Sprint("pod-", i), "a"))
	}
	var mu sync.Mutex
	most, now, asked := 0, 0, map[string]int{}
	all := askedBy(func(target string) (*http.Response, error) {
		mu.Lock()
		now++
		most = max(most, now)
		asked[target]++
		mu.Unlock()
		time.Sleep(time.Second) // all that may be asked meanwhile are
		mu.Lock()
		now--
		mu.Unlock()
		return says(200, target, list(using("web", "a", "1m")))(nil, nil)
	})
	var got Result
	synctest.Test(t, func(t *testing.T) { got = List(t.Context(), all, from, pods) })
	if len(asked) != maxTargets || len(got.Pods) != maxTargets || most != together {
		t.Errorf("%d targets asked, %d pods, %d side by side", len(asked), len(got.Pods), most)
	}
	lacks := got.Lacks()
	if len(got.Missing) != 30 || len(lacks) != maxNamed+1 || !strings.Contains(lacks[0], "not asked") ||
		!strings.Contains(lacks[maxNamed], "10 pods of 10 further sites: site-276, ") {
		t.Errorf("%d missing, said as %q", len(got.Missing), lacks)
	}
}

type askedBy func(target string) (*http.Response, error)

// Do implements exchange.Sites.
func (f askedBy) Do(_ context.Context, target string, _ *exchange.Request) (*http.Response, error) {
	return f(target)
}

// TestBounds: answers together have a size, and a site has a time.
func TestBounds(t *testing.T) {
	large := list(using("web", "a", strings.Repeat("1", maxAnswers*2/3)))
	a := &asking{targets: sites{
		"oslo": says(200, "oslo", large), "paris": says(200, "paris", large), "bergen": says(200, "bergen", list()),
	}, from: from}
	a.left.Store(maxAnswers)
	for _, c := range []struct {
		site string
		code int
	}{{"oslo", 200}, {"paris", 413}, {"bergen", 200}} {
		code := 200
		if _, _, _, err := a.ask(t.Context(), t.Context(), c.site, a.view("web", "")); err != nil {
			code = exchange.FaultOf(err).Code
		}
		if code != c.code {
			t.Errorf("site %s: %d, want %d", c.site, code, c.code)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		slow := sites{"oslo": func(ctx context.Context, r *exchange.Request) (*http.Response, error) {
			if r.Timeout != targetTime {
				t.Errorf("the site has %s", r.Timeout)
			}
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}}
		f := fault(List(t.Context(), slow, from, []Pod{pod("oslo", "web", "a", "a")}))
		if time.Since(begun) != targetTime || f.Code != 503 || f.Message != "site oslo has not answered within 20s" {
			t.Errorf("a slow site, after %s: %+v", time.Since(begun), f)
		}
	})
}

// TestTime: what some sites say reaches whoever asks in time, whatever others do, at each tier.
func TestTime(t *testing.T) {
	hangs := func(ctx context.Context, _ *exchange.Request) (*http.Response, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	quick := says(200, "oslo", list(using("web", "a", "1m")))
	synctest.Test(t, func(t *testing.T) {
		all, pods := sites{"zz": quick}, []Pod{pod("zz", "web", "a", "a")}
		for i := range 3 * together {
			name := fmt.Sprintf("site-%d", i)
			all[name] = hangs
			pods = append(pods, pod(name, "web", name, "a"))
		}
		begun := time.Now()
		got := List(t.Context(), all, from, pods)
		if last := got.Missing[len(got.Missing)-1]; time.Since(begun) != listTime || last.Target != "zz" ||
			last.Fault.Message != "site zz was not asked, because others took too long" {
			t.Errorf("%d missing, the last %+v", len(got.Missing), last)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), targetTime) // as a relay has it
		defer cancel()
		got := List(ctx, sites{"oslo": quick, "bergen": hangs}, from,
			[]Pod{pod("oslo", "web", "a", "a"), pod("bergen", "web", "b", "b")})
		if ctx.Err() != nil || len(got.Pods) != 1 || len(got.Missing) != 1 ||
			got.Missing[0].Fault.Message != "site bergen has not answered within 15s" {
			t.Errorf("%d pods, %q, %v", len(got.Pods), got.Lacks(), ctx.Err())
		}
		_, _, err := Get(ctx, sites{"bergen": hangs}, from, pod("bergen", "web", "b", "b"))
		if ctx.Err() != nil || exchange.FaultOf(err).Code != 503 {
			t.Errorf("one: %v", err)
		}
	})
}

// TestGet: one Pod is asked for by its name there, and nothing else is taken.
func TestGet(t *testing.T) {
	p := pod("oslo", "web", "a.oslo", "a")
	all := sites{"oslo": func(ctx context.Context, r *exchange.Request) (*http.Response, error) {
		if r.Namespace != "web" || r.Query.Get(exchange.OptionName) != "a" || r.User != "vera" || !Asks(r) {
			t.Errorf("asked for %s/%s", r.Namespace, r.Query)
		}
		return says(200, "oslo", using("web", "a", "1m"))(ctx, r)
	}}
	m, _, err := Get(t.Context(), all, from, p)
	if err != nil || m.Metadata.Name != "a.oslo" || m.Containers[0].Usage["memory"] != "11Mi" || m.Window != "30s" {
		t.Errorf("%+v: %v", m, err)
	}
	for what, answer := range map[string]answer{
		"another pod":       says(200, "oslo", using("web", "b", "1m")),
		"another namespace": says(200, "oslo", using("bank", "a", "1m")),
		"nothing":           says(404, "oslo", `{"kind":"Status","message":"podmetrics a not found"}`),
	} {
		if m, _, err := Get(t.Context(), sites{"oslo": answer}, from, p); err == nil {
			t.Errorf("%s: %+v", what, m)
		}
	}
}

// TestEncode: what a relay answers is what a site answers.
func TestEncode(t *testing.T) {
	all, err := Decode([]byte(list(using("web", "a", "1m"))), true)
	if err != nil {
		t.Fatal(err)
	}
	text, err := EncodeList(all)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Decode(text, true)
	if err != nil || len(again) != 1 || fmt.Sprint(again) != fmt.Sprint(all) {
		t.Errorf("%s: %v", text, err)
	}
	if text, err = Encode(all[0]); err != nil {
		t.Fatal(err)
	}
	if one, err := Decode(text, false); err != nil || fmt.Sprint(one) != fmt.Sprint(all) {
		t.Errorf("%s: %v", text, err)
	}
	if text, _ := EncodeList(nil); !json.Valid(text) || !strings.Contains(string(text), `"items":[]`) {
		t.Errorf("an empty list: %s", text)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(list(using("web", "a", "1m"))), true)
	f.Add([]byte(using("web", "a", "1m")), false)
	f.Fuzz(func(t *testing.T, text []byte, list bool) {
		all, err := Decode(text, list)
		if err != nil {
			return
		}
		if _, err := EncodeList(all); err != nil && !strings.Contains(err.Error(), "year outside") {
			t.Error(err)
		}
	})
}
