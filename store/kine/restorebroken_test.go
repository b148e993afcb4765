package kine

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"skerry.dev/skerry/store/restore"
	"skerry.dev/skerry/store/storetest"
)

// breaksOff begins a restore that ends when half of its keys are written.
func breaksOff(t *testing.T, config Config, file string, o restore.Options) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	o.Count = func(done, total int) {
		if done == total/2 {
			cancel()
		}
	}
	if err := Restore(ctx, config, file, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("a restore that is ended: %v", err)
	}
}

// restorerEnv makes the test binary a process that restores the file that it names, until half of
// its keys are written. Then it waits to be killed.
const restorerEnv = "SKERRY_KINE_TEST_RESTORER"

func restoreHalf(file, endpoint string) {
	err := Restore(context.Background(), Config{Endpoint: endpoint}, file,
		restore.Options{Replace: true, Count: func(done, total int) {
			if done == total/2 {
				os.Stdout.WriteString("half\n")
				select {}
			}
		}})
	panic(err)
}

// killed kills a process that has restored half of a file.
func killed(t *testing.T, config Config, file string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), restorerEnv+"="+file, restorerEnv+"_ENDPOINT="+config.Endpoint)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if lines.Text() == "half" {
			cmd.Process.Kill()
		}
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("the restore ended by itself: %v", err)
	}
}

// refusesHalf checks that nothing but another restore that is told so opens a datastore with a mark.
func refusesHalf(t *testing.T, config Config, file string) {
	t.Helper()
	if there, err := Look(t.Context(), config); err != nil || !there.Unfinished {
		t.Errorf("it holds %v, %v", there, err)
	}
	if s, err := Open(t.Context(), config); !errors.Is(err, restore.ErrUnfinished) {
		t.Errorf("a center opens it: %v, %v", s, err)
	}
	if err := Restore(
		t.Context(),
		config,
		file,
		restore.Options{},
	); !errors.Is(
		err,
		restore.ErrUnfinished,
	) {
		t.Errorf("a restore that replaces nothing: %v", err)
	}
	if err := Restore(t.Context(), config, file, restore.Options{Replace: true}); err != nil {
		t.Fatal(err)
	}
}

func TestBrokenRestoreIntoEtcd(t *testing.T) {
	config := Config{Endpoint: storetest.StartEtcd(t, 1).Endpoint}
	file, keys, at := lived(t)
	breaksOff(t, config, file, restore.Options{})
	refusesHalf(t, config, file)
	s, err := Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	holds(t, s, keys, at)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	breaksOff(t, config, file, restore.Options{Replace: true}) // over a center
	refusesHalf(t, config, file)
	killed(t, config, file)
	refusesHalf(t, config, file)
}

// PostgreSQL takes a restore as a whole: one that is ended leaves what was there. A mark stays when
// the process dies.
func TestBrokenRestoreIntoPostgres(t *testing.T) {
	config := Config{Endpoint: storetest.StartPostgres(t).Endpoint}
	file, keys, at := lived(t)
	breaksOff(t, config, file, restore.Options{})
	if there, err := Look(t.Context(), config); err != nil || there.String() != "nothing" {
		t.Errorf("an ended restore leaves %v, %v", there, err)
	}
	if err := Restore(t.Context(), config, file, restore.Options{}); err != nil {
		t.Fatal(err)
	}
	breaksOff(t, config, file, restore.Options{Replace: true})
	s, err := Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	holds(t, s, keys, at)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	killed(t, config, file)
	refusesHalf(t, config, file)
}

// The table kine of another program, such as k3s, is not a center's.
func TestRestoreOverAnotherProgramOnPostgres(t *testing.T) {
	config := Config{Endpoint: storetest.StartPostgres(t).Endpoint}
	file, _, _ := lived(t)
	u, err := postgresURL(config.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	p, err := openPostgres(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, q := range []string{sharedSQL[0], `INSERT INTO kine (name) VALUES ('/registry/pods/a')`} {
		if _, err := p.db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	if err := Restore(
		t.Context(),
		config,
		file,
		restore.Options{Replace: true},
	); !errors.Is(
		err,
		restore.ErrForeign,
	) {
		t.Errorf("a restore over it: %v", err)
	}
}

// Another center stands in the same cluster, below a longer prefix: it would be removed, too.
func TestRestoreOverAnotherCenterOnEtcd(t *testing.T) {
	e := storetest.StartEtcd(t, 1)
	file, _, _ := lived(t)
	other := Config{Endpoint: e.Endpoint + "/skerry/other"}
	if err := Restore(t.Context(), other, file, restore.Options{}); err != nil {
		t.Fatal(err)
	}
	outer := Config{Endpoint: e.Endpoint}
	if err := Restore(
		t.Context(),
		outer,
		file,
		restore.Options{Replace: true},
	); !errors.Is(
		err,
		restore.ErrForeign,
	) {
		t.Errorf("a restore over it: %v", err)
	}
	beside := Config{Endpoint: e.Endpoint + "/skerry-other"}
	if err := Restore(t.Context(), beside, file, restore.Options{}); err != nil {
		t.Error(err)
	}
}

// A member dies beneath a restore.
func TestRestoreIntoEtcdWhileAMemberDies(t *testing.T) {
	e := storetest.StartEtcd(t, 3)
	file, keys, at := lived(t)
	var once sync.Once
	count := func(done, total int) {
		if done > total/2 {
			once.Do(func() { e.Kill(0) })
		}
	}
	config := Config{Endpoint: e.Endpoint}
	if err := Restore(t.Context(), config, file, restore.Options{Count: count}); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	holds(t, s, keys, at)
}

// A restore that is overtaken by another one writes nothing more.
func TestRestoreIntoEtcdIsOvertaken(t *testing.T) {
	config := Config{Endpoint: storetest.StartEtcd(t, 1).Endpoint}
	file, keys, at := lived(t)
	var once sync.Once
	err := Restore(t.Context(), config, file, restore.Options{Count: func(int, int) {
		once.Do(func() {
			client, err := clientv3.New(clientv3.Config{Endpoints: []string{config.Endpoint}})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			if _, err := client.Put(t.Context(), "/skerry:restoring", "another"); err != nil {
				t.Fatal(err)
			}
		})
	}})
	if !errors.Is(err, restore.ErrOvertaken) {
		t.Errorf("a restore that is overtaken: %v", err)
	}
	refusesHalf(t, config, file)
	s, err := Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	holds(t, s, keys, at)
}
