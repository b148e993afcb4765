package agent

import (
	"database/sql"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// storeWrites are writes of the center's store by what they are of.
type storeWrites map[string]int

// kindsOfWrites says of each kind of write why the center makes it. Of other kinds nothing is said.
var kindsOfWrites = map[string]string{
	"bindings":    "records of decisions: one for each step of a unit",
	"cohorts":     "records of objects that pass to another unit: the cut and the arrival; the end is long after",
	"namespaces":  "their conditions: a move begins, and has ended",
	"placements":  "their status: the decision, then how far it is, once a second at most",
	"events":      "a move begins, and has ended",
	"synctargets": "their status: three a second, a sign of life a minute, two for a target that is late by five seconds",
	"configmaps":  "views and stamps on the objects: when there is time, one an object, two while a move takes long",
	"deployments": "the status of the objects, whenever what all targets report together is another",
	"roles":       "what each space has from the start, when its rights are asked about first",
}

// decides reports whether a kind of writes is a record of decisions. Everything else says what was
// decided.
func decides(kind string) bool { return kind == "bindings" || kind == "cohorts" }

// kindOfWrite is what the key of the store is of: /registry/GROUP/RESOURCE/SPACE/... or without a group.
func kindOfWrite(key string) string {
	parts := strings.Split(strings.TrimPrefix(key, "/registry/"), "/")
	if strings.Contains(parts[0], ".") && len(parts) > 1 {
		parts = parts[1:]
	}
	if parts[0] == "bindings" && strings.HasPrefix(parts[len(parts)-1], "cohort-") {
		return "cohorts"
	}
	return parts[0]
}

// wrote counts what the center has written after a revision. It is read from the file, where nothing is
// missing unless the center has compacted it meanwhile: that is "compacted".
func (c *centerProcess) wrote(after int64) storeWrites {
	c.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(c.dir, "data", "state.db")+"?mode=ro&_pragma=busy_timeout(30000)")
	if err != nil {
		c.t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(c.t.Context(), "SELECT id, name FROM kine WHERE id > ? ORDER BY id", after)
	if err != nil {
		c.t.Fatalf("read the center's store: %v", err)
	}
	defer rows.Close()
	out, last := storeWrites{}, after
	for rows.Next() {
		var revision int64
		var key string
		if err := rows.Scan(&revision, &key); err != nil {
			c.t.Fatal(err)
		}
		if missing := int(revision - last - 1); missing > 0 {
			out["compacted"] += missing
		}
		out[kindOfWrite(key)]++
		last = revision
	}
	if err := rows.Err(); err != nil {
		c.t.Fatal(err)
	}
	return out
}

// without takes off what the test has written itself.
func (w storeWrites) without(kind string, n int) storeWrites {
	if w[kind] -= n; w[kind] == 0 {
		delete(w, kind)
	}
	return w
}

// all is how many there are.
func (w storeWrites) all() (n int) {
	w.each(func(_ string, is int) { n += is })
	return n
}

// each visits the kinds in order.
func (w storeWrites) each(do func(kind string, n int)) {
	for _, kind := range slices.Sorted(maps.Keys(w)) {
		do(kind, w[kind])
	}
}

// say prints what decides under the figure's name, and each kind of write under that and its own, per
// so many changes of a user. A goal is for what decides.
func (w storeWrites) say(figure string, goal float64, changes, n int, took time.Duration) {
	records := 0
	w.each(func(kind string, is int) {
		if decides(kind) {
			records += is
		}
	})
	say(figure, float64(records)/float64(changes), "writes", goal, n, fmt.Sprintf(
		"of the center for the decision itself, beside the user's own; in the %.0f s until nothing was written any more",
		took.Seconds()))
	w.each(func(kind string, is int) {
		say(figure+"/"+kind, float64(is)/float64(changes), "writes", 0, n, kindsOfWrites[kind])
	})
}
