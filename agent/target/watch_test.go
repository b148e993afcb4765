package target

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestReadEvents(t *testing.T) {
	stream := `{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"5"}}}
{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}
{"type":"DELETED","object":{"metadata":{"name":"a","resourceVersion":"12"}}}
`
	var got []string
	visit := func(kind EventType, o *Object) { got = append(got, string(kind)+" "+o.Metadata.Name) }
	from, err := readEvents(json.NewDecoder(strings.NewReader(stream)), "1", visit)
	if err != nil || from != "12" || strings.Join(got, ", ") != "ADDED a, DELETED a" {
		t.Errorf("%q %v %v", from, err, got)
	}
	stream += `{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}`
	if from, err = readEvents(json.NewDecoder(strings.NewReader(stream)), "1", visit); from != "12" ||
		!errors.Is(err, ErrExpired) {
		t.Errorf("%q %v", from, err)
	}
	if _, err = readEvents(json.NewDecoder(strings.NewReader(`{"type":"ADDED","obj`)), "1", visit); err == nil {
		t.Error("half an event is taken for an ordinary end")
	}
}

func TestFailure(t *testing.T) {
	status := func(details string) string {
		return `{"kind":"Status","code":404,"reason":"NotFound","message":"m","details":` + details + `}`
	}
	for body, notServed := range map[string]bool{
		"404 page not found":                       true,
		status(`{}`):                               true,
		status(`null`):                             true,
		status(`{"name":"x","kind":"widgets"}`):    false,
		status(`{"name":"n","kind":"namespaces"}`): false,
	} {
		err := failure(404, []byte(body))
		if errors.Is(err, ErrNotServed) != notServed || apierrors.IsNotFound(err) == notServed {
			t.Errorf("%s: %v", body, err)
		}
	}
	var status502 apierrors.APIStatus
	if err := failure(502, []byte("<html>")); !errors.As(err, &status502) || status502.Status().Code != 502 ||
		err.Error() != "<html>" {
		t.Errorf("a proxy's answer: %v", err)
	}
}

func FuzzReadEvents(f *testing.F) {
	f.Add([]byte(`{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"5"}}}`))
	f.Add([]byte(`{"type":"ERROR","object":{"code":410}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := readEvents(json.NewDecoder(strings.NewReader(string(data))), "1", func(_ EventType, o *Object) {
			o.ControllerUID()
			o.Revision()
		}); err == nil && strings.Contains(string(data), `"ERROR"`) &&
			strings.HasPrefix(string(data), `{"type":"ERROR","object":{`) {
			t.Error("an error event is taken for an ordinary end")
		}
	})
}
