package storage

import (
	"context"
	"errors"
	"testing"

	"skerry.dev/skerry/server/apiserver/request"
)

// TestSpaceInKey checks that nothing reaches the database without its space.
func TestSpaceInKey(t *testing.T) {
	s := &spaceStorage{prefix: "/pods"}
	in := func(space string) context.Context { return request.WithSpace(t.Context(), space) }
	for _, x := range []struct {
		ctx       context.Context
		key, want string
	}{
		{in("team"), "/pods/default/a", "/pods/team/default/a"},
		{in("team"), "/pods", "/pods/team/"},
		{in("team"), "/pods/", "/pods/team/"},
		{in("team"), "/podsecurity/a", ""},
		{in("*"), "/pods", "/pods"},
		{in("*"), "/pods/", "/pods/"},
		{in("*"), "/pods/team", ""}, // would be read as the space of that name
		{t.Context(), "/pods/default/a", ""},
	} {
		_, _, got, err := s.key(x.ctx, x.key)
		if got != x.want || (err != nil) != (x.want == "") {
			t.Errorf("%s in %q: %q, %v", x.key, request.Space(x.ctx), got, err)
		}
	}
	if _, _, _, err := s.key(t.Context(), "/pods/a"); !errors.Is(err, request.ErrNoSpace) {
		t.Errorf("no space: %v", err)
	}
	if _, _, _, err := s.one(in("*"), "/pods/a"); err == nil {
		t.Error("one object of all spaces")
	}
	only := &spaceStorage{prefix: "/x", only: "team"}
	if _, _, got, err := only.key(t.Context(), "/x/a"); got != "/x/team/a" || err != nil {
		t.Errorf("custom resources without a space: %q %v", got, err)
	}
	if _, _, _, err := only.key(in("team-b"), "/x/a"); err == nil {
		t.Error("custom resources of another space")
	}
}
