package storetest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// OtherProcess runs a test of this binary in a process of its own, with an environment variable that
// tells it so, and returns once the test calls Hold. end ends the process; it ends with the test, too.
func OtherProcess(t testing.TB, test, variable, value string) (pid int, end func()) {
	t.Helper()
	other := exec.Command(os.Args[0], "-test.run=^"+test+"$")
	other.Env = append(os.Environ(), variable+"="+value)
	in, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	end = sync.OnceFunc(func() { in.Close(); _ = other.Wait() })
	t.Cleanup(end)
	if line, err := bufio.NewReader(out).ReadString('\n'); strings.TrimSpace(line) != held {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	return other.Process.Pid, end
}

// held is what the other process says.
const held = "held"

// Hold is for the test that OtherProcess runs: it says that the test holds what it is to hold, and waits
// for the end.
func Hold() {
	fmt.Println(held)
	_, _ = os.Stdin.Read(make([]byte, 1))
}
