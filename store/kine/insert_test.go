package kine

import (
	"errors"
	"testing"

	"github.com/k3s-io/kine/pkg/server"

	"skerry.dev/skerry/store/storetest"
)

// A write is refused where the key is not what its writer saw, and only there. No row has what a
// replica of an earlier release cannot read.
func TestInsertsOnPostgres(t *testing.T) {
	s := openShared(t, storetest.StartPostgres(t))
	defer s.Close()
	write := func(what string, e *server.Event, after int64, done bool) (revision int64) {
		t.Helper()
		e.KV, e.PrevKV = &server.KeyValue{Key: "/registry/a"}, &server.KeyValue{ModRevision: after}
		revision, err := s.backend.committer.commit(t.Context(), e)
		if done && err != nil || !done && !errors.Is(err, server.ErrKeyExists) {
			t.Fatalf("%s: %d, %v", what, revision, err)
		}
		return revision
	}
	first := write("create", &server.Event{Create: true}, 0, true)
	write("create what is there", &server.Event{Create: true}, 0, false)
	second := write("change", &server.Event{}, first, true)
	write("change what it was before", &server.Event{}, first, false)
	write("change what is not there", &server.Event{}, second+100, false)
	gone := write("delete", &server.Event{Delete: true}, second, true)
	write("change what is deleted", &server.Event{}, gone, false)
	if _, err := s.backend.table.DB.ExecContext(t.Context(), `DELETE FROM kine WHERE id = $1`,
		gone); err != nil { // as a compaction does
		t.Fatal(err)
	}
	again := write("create again", &server.Event{Create: true}, gone, true)
	for revision, want := range map[int64]int64{first: 0, second: first, again: 0} {
		var created int64
		if err := s.backend.table.DB.QueryRowContext(t.Context(),
			`SELECT create_revision FROM kine WHERE id = $1`, revision).Scan(&created); err != nil ||
			created != want {
			t.Errorf("the row %d says that the key was created at %d, want %d: %v", revision, created,
				want, err)
		}
	}
}
