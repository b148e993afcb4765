package bolt_test

import (
	"path/filepath"
	"testing"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/bolt"
	"skerry.dev/skerry/store/storetest"
)

// The consumer does not begin with what a Commit creates when the Commit also changes a rule: it
// would render the new object by the old rule.
func TestAChangedRuleIsWaitedFor(t *testing.T) {
	starts := 0
	s := sink(t, open(t, filepath.Join(t.TempDir(), "a.db"), bolt.Options{}), bolt.SinkOptions{
		OnStart: func([]store.Key) { starts++ },
	})
	rule := func(revision int64, body string) store.Entry {
		return store.Entry{
			Key:      store.Key{Space: "s", Group: store.RulesGroup, Resource: store.RulesResource, Name: "r"},
			Revision: revision, Hash: store.HashBody(1, []byte(body)), Body: []byte(body),
		}
	}
	i := store.NewIncarnation()
	for n, want := range []int{1, 1, 2} { // a new rule; one that changes; none
		revision := int64(n + 1)
		entries := []store.Entry{storetest.Value(n+10, revision, `{"a":1}`)}
		if n < 2 {
			entries = append(entries, rule(revision, string(rune('a'+n))))
		}
		if commit(t, s, i, revision, entries...); starts != want {
			t.Errorf("commit %d: the consumer began %d times, not %d", revision, starts, want)
		}
	}
}
