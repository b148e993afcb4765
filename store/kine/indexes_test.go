package kine

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
)

// Nothing that is asked of the table has to look at every row.
func TestStatementsUseIndexes(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.Close()
	d := s.file.table
	for _, q := range []string{insertSQL, d.GetSingleSQL.Query, d.GetSingleValSQL.Query,
		d.ListCurrentSQL.Query, d.ListCurrentValSQL.Query, d.ListRevisionStartSQL.Query,
		d.ListRevisionStartValSQL.Query, d.GetRevisionAfterSQL.Query,
		d.GetRevisionAfterValSQL.Query, d.CountCurrentSQL.Query, d.CountRevisionSQL.Query,
		d.AfterOldValSQL.Query, d.AfterAllOldValSQL.Query, d.AfterSingleOldValSQL.Query,
		d.CurrentRevSQL.Query, d.CompactRevSQL.Query, d.CompactSQL.Query,
		d.UpdateCompactSQL.Query, d.DeleteSQL.Query} {
		plan := planOf(t, d.DB, q)
		for _, line := range plan {
			for table := range strings.FieldsSeq("kine newest k kp kd") {
				if line == "SCAN "+table || strings.HasPrefix(line, "SCAN "+table+" ") {
					t.Errorf("%s\nis done by %s", q, strings.Join(plan, "; "))
				}
			}
		}
	}
	// A page of a list is read in its order, and no further.
	for _, q := range []string{d.ListCurrentValSQL.Query, d.GetRevisionAfterValSQL.Query} {
		if plan := strings.Join(planOf(t, d.DB, q), "; "); strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s\nis done by %s", q, plan)
		}
	}
	// What is deleted is found without the rows of everything else.
	if plan := strings.Join(planOf(t, d.DB, d.CompactSQL.Query), "; "); !strings.Contains(plan,
		"SEARCH kd USING COVERING INDEX kine_deleted_index") {
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
