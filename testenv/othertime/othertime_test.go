//go:build linux && amd64

package othertime

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test's binary be a tracer, and the program that is traced.
func TestMain(m *testing.M) {
	switch os.Getenv("OTHERTIME") {
	case "trace":
		os.Setenv("OTHERTIME", "tell")
		status, err := Run(Config{At: time.Unix(60, 0), Until: os.Args[1], Command: []string{os.Args[0], os.Args[1]}})
		if err != nil {
			fmt.Println(err)
			status = 99
		}
		os.Exit(status)
	case "tell":
		tell(os.Args[1])
	default:
		os.Exit(m.Run())
	}
}

// tell says the year on many threads, until the clock was set, and how long that took.
func tell(set string) {
	began := time.Now()
	years := make(chan int)
	for range 20 {
		go func() { years <- time.Now().UTC().Year() }()
	}
	for range 20 {
		fmt.Println(<-years)
	}
	if err := os.WriteFile(set, nil, 0o600); err != nil {
		fmt.Println(err)
	}
	for end := time.Now().Add(time.Minute); time.Now().Year() == 1970 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	fmt.Println("set:", time.Now().Year() > 2000, "monotonic:", time.Since(began) < time.Minute)
	os.Exit(7)
}

func TestAnotherTime(t *testing.T) {
	cmd := exec.Command(os.Args[0], filepath.Join(t.TempDir(), "set"))
	cmd.Env = append(os.Environ(), "OTHERTIME=trace")
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), "operation not permitted") {
		t.Skip("nobody may be traced here")
	}
	if cmd.ProcessState.ExitCode() != 7 || string(out) != strings.Repeat("1970\n", 20)+"set: true monotonic: true\n" {
		t.Errorf("%v\n%s", err, out)
	}
}
