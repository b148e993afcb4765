package observe

import (
	"testing"

	"skerry.dev/skerry/store"
)

// TestHistoryIsThatOfTheSpace: kubectl rollout undo gives all targets what is reported.
func TestHistoryIsThatOfTheSpace(t *testing.T) {
	const (
		said  = `[{"path":"/spec/containers/0/image","was":"app:v1","is":"registry.paris/app:v1"}]`
		there = `{"spec":{"containers":[{"image":"registry.paris/app:v1","n":12345678901234567890}]}}`
		here  = `{"spec":{"containers":[{"image":"app:v1","n":12345678901234567890}]}}`
		other = `{"spec":{"containers":[{"image":"registry.paris/app:v2"}]}}`
	)
	for _, c := range []struct{ resource, said, object, want string }{
		{"replicasets", said, `{"spec":{"template":` + there + `}}`, `{"spec":{"template":` + here + `}}`},
		{"controllerrevisions", said, `{"data":{"spec":{"template":` + there + `}}}`,
			`{"data":{"spec":{"template":` + here + `}}}`},
		{"replicasets", "", `{"spec":{"template":` + there + `}}`, `{"spec":{"template":` + there + `}}`},
		{"replicasets", said, `{"spec":{"template":` + other + `}}`, `{"spec":{"template":` + other + `}}`},
		{"replicasets", said, `{"spec":{}}`, `{"spec":{}}`},
		{"daemonsets", said, `{"spec":{"template":` + there + `}}`, `{"spec":{"template":` + there + `}}`},
	} {
		got, err := asInSpace(store.Key{Group: "apps", Resource: c.resource}, c.said, []byte(c.object))
		if err != nil || string(got) != c.want {
			t.Errorf("%s, %s: %s, %v", c.resource, c.object, got, err)
		}
	}
}
