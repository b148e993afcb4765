package bolt_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/bolt"
	"skerry.dev/skerry/store/storetest"
)

// writerEnv makes the test binary a process that commits to the file that it names until it is
// killed.
const writerEnv = "SKERRY_BOLT_TEST_WRITER"

const perCommit = 5

// entriesAt are what the writer commits at a revision: all of the same revision, so that half of
// them would show.
func entriesAt(revision int64) []store.Entry {
	var out []store.Entry
	for i := range perCommit {
		out = append(out, storetest.Value(i, revision, fmt.Sprintf(`{"revision":%d}`, revision)))
	}
	return out
}

// writeForever says each revision once it is acknowledged.
func writeForever(path string) {
	f, err := bolt.Open(path, bolt.Options{})
	if err != nil {
		panic(err)
	}
	s, err := f.Sink("desired", bolt.SinkOptions{})
	if err != nil {
		panic(err)
	}
	at := s.Position()
	if at.Incarnation.IsZero() {
		at.Incarnation = store.NewIncarnation()
	}
	for {
		at.Revision++
		if err := s.Commit(context.Background(), store.Batch{Entries: entriesAt(at.Revision),
			Through: at}); err != nil {
			panic(err)
		}
		fmt.Println(at.Revision)
	}
}

// What was acknowledged before a kill -9 is there, and nothing is there by halves.
func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.db")
	for round := range 8 {
		acked := runAndKill(t, path, time.Duration(20+17*round)*time.Millisecond)
		f, err := bolt.Open(path, bolt.Options{})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		s, err := f.Sink("desired", bolt.SinkOptions{})
		if err != nil {
			t.Fatal(err)
		}
		at := s.Position().Revision
		if at < acked {
			t.Errorf("round %d: revision %d was acknowledged, the file is at %d", round, acked, at)
		}
		var root store.Digest
		if at > 0 {
			for _, e := range entriesAt(at) {
				got, ok, err := s.Get(e.Key)
				if !ok || err != nil || got.Revision != at || string(got.Body) != string(e.Body) {
					t.Errorf("round %d: %s at %d, position %d: %t, %v", round, e.Key, got.Revision,
						at, ok, err)
				}
				root.Add(e.Key, e.Hash)
			}
		}
		if root != s.Root() {
			t.Errorf("round %d: the digest is not that of the entries", round)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func runAndKill(t *testing.T, path string, after time.Duration) (acked int64) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), writerEnv+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("the writer wrote nothing")
	}
	time.AfterFunc(after, func() { cmd.Process.Kill() })
	for ok := true; ok; ok = lines.Scan() {
		if n, err := strconv.ParseInt(lines.Text(), 10, 64); err == nil {
			acked = n
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the writer ended by itself")
	}
	return acked
}
