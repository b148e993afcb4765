package kine

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	driver "modernc.org/sqlite"
)

// keeping opens a database whose one connection keeps its statements.
func keeping(t *testing.T) (db *sql.DB, kept func() map[string]any) {
	t.Helper()
	connector, err := driver.NewConnector(filepath.Join(t.TempDir(), "test.db") + "?" + params)
	if err != nil {
		t.Fatal(err)
	}
	db = sql.OpenDB(keepingConnector{connector})
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	if _, err := db.Exec(`CREATE TABLE t (id INTEGER PRIMARY KEY, value TEXT NOT NULL)`); err != nil {
		t.Fatal(err)
	}
	return db, func() map[string]any {
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		all := map[string]any{}
		if err := conn.Raw(func(c any) error {
			for text, s := range c.(*keepingConn).kept {
				all[text] = s
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return all
	}
}

// A statement is compiled once, used again with other values, and answers by what is there then.
func TestStatementsAreKept(t *testing.T) {
	db, kept := keeping(t)
	const insert, read = `INSERT INTO t (value) VALUES (?)`, `SELECT value FROM t WHERE id = ?`
	var first any
	for i := range 5 {
		if result, err := db.Exec(insert, fmt.Sprint("value ", i)); err != nil {
			t.Fatal(err)
		} else if id, _ := result.LastInsertId(); id != int64(i+1) {
			t.Errorf("insert %d has the id %d", i, id)
		}
		var value string
		if err := db.QueryRow(read, i+1).Scan(&value); err != nil ||
			value != fmt.Sprint("value ", i) {
			t.Errorf("read %d: %q, %v", i, value, err)
		}
		if err := db.QueryRow(read, i+2).Scan(&value); err != sql.ErrNoRows {
			t.Errorf("read what is not there: %q, %v", value, err)
		}
		if first == nil {
			first = kept()[read]
		}
		if now := kept()[read]; now != first || now == nil {
			t.Errorf("turn %d: the statement is %v, was %v", i, now, first)
		}
	}
	// What fails is not kept, and what comes after it works.
	if _, err := db.Exec(insert, nil); err == nil {
		t.Error("a value that must not be is taken")
	}
	if kept()[insert] != nil {
		t.Error("a statement that failed is kept")
	}
	if _, err := db.Exec(insert, "again"); err != nil {
		t.Error(err)
	}
	if _, err := db.Query(`SELECT nonsense`); err == nil {
		t.Error("nonsense is compiled")
	}
}

// A statement that runs is not used for another: both have their own rows.
func TestStatementWithinItself(t *testing.T) {
	db, _ := keeping(t)
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	for i := range 3 {
		if _, err := tx.Exec(`INSERT INTO t (value) VALUES (?)`, fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	read := func(inner func()) (all string) {
		rows, err := tx.Query(`SELECT value FROM t ORDER BY id`)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var value string
			if err := rows.Scan(&value); err != nil {
				t.Fatal(err)
			}
			all += value
			inner()
		}
		return all
	}
	if all := read(func() {
		if all := read(func() {}); all != "012" {
			t.Errorf("within: %q", all)
		}
	}); all != "012" {
		t.Errorf("without: %q", all)
	}
}

// A connection keeps those that it used last, and no more than maxKept.
func TestKeptStatementsAreBounded(t *testing.T) {
	db, kept := keeping(t)
	text := func(i int) string { return fmt.Sprintf("SELECT %d", i) }
	for i := range 3 * maxKept {
		for _, j := range []int{0, i} { // one is used all the time
			var n int
			if err := db.QueryRow(text(j)).Scan(&n); err != nil || n != j {
				t.Fatalf("%s: %d, %v", text(j), n, err)
			}
		}
	}
	if all := kept(); len(all) != maxKept || all[text(0)] == nil || all[text(3*maxKept-1)] == nil {
		t.Errorf("%d are kept, the first: %v", len(all), all[text(0)])
	}
}
