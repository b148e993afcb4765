package kine

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/k3s-io/kine/pkg/drivers/sqlite"
	"go.etcd.io/etcd/client/v3/kubernetes"
)

// indexesOf returns how each index is defined and where it begins.
func indexesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	db, err := openSQL(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(`SELECT name, sql || ' at ' || rootpage FROM sqlite_master WHERE type = 'index' AND tbl_name = 'kine'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	all := map[string]string{}
	for rows.Next() {
		var name, is string
		if err := rows.Scan(&name, &is); err != nil {
			t.Fatal(err)
		}
		all[name] = is
	}
	return all
}

// plainKine opens a file as kine does by itself, and closes it.
func plainKine(t *testing.T, dir string) {
	t.Helper()
	run, cancel := context.WithCancel(t.Context())
	var drivers sync.WaitGroup
	config := driverConfig(0)
	config.DataSourceName = filepath.Join(dir, FileName) + "?" + kineParams
	if _, _, err := sqlite.NewVariant(run, &drivers, "sqlite3", config); err != nil {
		t.Fatal(err)
	}
	cancel()
	drivers.Wait()
}

// A file that kine has indexed gets lean indexes once, keeps them, also when kine opens it again, and has what it had.
func TestIndexesAreReplacedOnce(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	rev := create(t, s, "/registry/a", "one")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := openSQL(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	for name := range leanIndexes {
		if _, err := db.Exec(`DROP INDEX ` + name); err != nil {
			t.Fatal(err)
		}
	}
	db.Close()
	plainKine(t, dir) // makes its own
	for name, is := range indexesOf(t, dir) {
		if made, ok := leanIndexes[name]; ok && strings.HasPrefix(is, made) {
			t.Fatalf("kine makes %s", is)
		}
	}
	reopen := func() {
		s := open(t, dir)
		defer s.Close()
		if got, err := s.Client().Get(t.Context(), "/registry/a", kubernetes.GetOptions{}); err != nil || got.KV == nil || got.KV.ModRevision != rev {
			t.Errorf("what was there: %+v, %v", got.KV, err)
		}
	}
	reopen()
	lean := indexesOf(t, dir)
	for name, made := range leanIndexes {
		if !strings.HasPrefix(lean[name], made+" at ") {
			t.Errorf("%s is %q", name, lean[name])
		}
	}
	plainKine(t, dir)
	reopen()
	for name, is := range indexesOf(t, dir) {
		if lean[name] != is {
			t.Errorf("%s was %q and is %q", name, lean[name], is)
		}
	}
}

// Nothing that kine asks for has to look at every row.
func TestStatementsUseIndexes(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.Close()
	d := s.file.dialect
	for _, q := range []string{insertSQL, d.GetSingleSQL.Query, d.GetSingleValSQL.Query, d.ListCurrentSQL.Query, d.ListCurrentValSQL.Query, d.ListRevisionStartSQL.Query,
		d.ListRevisionStartValSQL.Query, d.GetRevisionAfterSQL.Query, d.GetRevisionAfterValSQL.Query, d.CountCurrentSQL.Query, d.CountRevisionSQL.Query,
		d.AfterOldValSQL.Query, d.AfterAllOldValSQL.Query, d.AfterSingleOldValSQL.Query, d.CurrentRevSQL.Query, d.CompactRevSQL.Query, d.CompactSQL.Query,
		d.UpdateCompactSQL.Query, d.DeleteSQL.Query} {
		plan := planOf(t, d.DB, q)
		for _, line := range plan {
			for table := range strings.FieldsSeq("kine kv kp kd") {
				if line == "SCAN "+table || strings.HasPrefix(line, "SCAN "+table+" ") {
					t.Errorf("%s\nis done by %s", q, strings.Join(plan, "; "))
				}
			}
		}
	}
	// What is deleted is found without the rows of everything else.
	if plan := strings.Join(planOf(t, d.DB, d.CompactSQL.Query), "; "); !strings.Contains(plan, "SEARCH kd USING COVERING INDEX kine_id_deleted_index") {
		t.Errorf("compaction is done by %s", plan)
	}
}

func planOf(t *testing.T, db *sql.DB, q string) (lines []string) {
	t.Helper()
	args := make([]any, strings.Count(q, "?"))
	if q == insertSQL {
		args = args[:7]
	}
	for i := range args {
		args[i] = fmt.Sprint(i)
	}
	rows, err := db.Query(`EXPLAIN QUERY PLAN `+q, args...)
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var line string
		if err := rows.Scan(&id, &parent, &unused, &line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines
}
