package kine

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"go.etcd.io/etcd/client/v3/kubernetes"
)

// writerEnv makes the test binary a process that writes to the store in the directory that it names
// until it is killed.
const writerEnv = "SKERRY_KINE_TEST_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerEnv); dir != "" {
		writeForever(dir)
	}
	if file := os.Getenv(restorerEnv); file != "" {
		restoreHalf(file, os.Getenv(restorerEnv+"_ENDPOINT"))
	}
	os.Exit(m.Run())
}

// writeForever says each write of several writers once it is acknowledged.
func writeForever(dir string) {
	s, err := Open(context.Background(), Config{Dir: dir})
	if err != nil {
		panic(err)
	}
	acknowledged := make(chan string)
	for w := range 8 {
		go func() {
			for i := 0; ; i++ {
				key := fmt.Sprintf("/registry/%d/%d-%d", os.Getpid(), w, i)
				resp, err := s.Client().OptimisticPut(context.Background(), key, []byte(key), 0,
					kubernetes.PutOptions{})
				if err != nil || !resp.Succeeded {
					panic(err)
				}
				acknowledged <- fmt.Sprintln(key, resp.Revision)
			}
		}()
	}
	for line := range acknowledged {
		os.Stdout.WriteString(line)
	}
}

// What was acknowledged before a kill -9 is there, with its revision, and nothing takes a revision
// twice after it.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	wrote := map[string]int64{}
	newest := int64(0)
	for round := range 4 {
		for key, revision := range runAndKill(t, dir, 40+37*round) {
			if revision <= newest {
				t.Errorf("round %d: revision %d after %d", round, revision, newest)
			}
			wrote[key] = revision
		}
		s := open(t, dir)
		for key, revision := range wrote {
			got, err := s.Client().Get(t.Context(), key, kubernetes.GetOptions{})
			if err != nil || got.KV == nil || got.KV.ModRevision != revision ||
				string(got.KV.Value) != key {
				t.Fatalf("round %d: %s was acknowledged as %d: %+v, %v", round, key, revision,
					got.KV, err)
			}
		}
		var err error
		if newest, err = s.Revision(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// runAndKill kills a writer when it has acknowledged so many writes, and returns all that it did.
func runAndKill(t *testing.T, dir string, writes int) map[string]int64 {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), writerEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	acknowledged := map[string]int64{}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var key string
		var revision int64
		if n, _ := fmt.Sscan(lines.Text(), &key, &revision); n == 2 {
			acknowledged[key] = revision
		}
		if len(acknowledged) == writes {
			cmd.Process.Kill()
		}
	}
	if err := cmd.Wait(); err == nil || len(acknowledged) < writes {
		t.Fatalf("the writer ended by itself after %d: %v", len(acknowledged), err)
	}
	return acknowledged
}
