package scenarios

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// message is something that a user does wrong, and what is to be said of it.
type message struct {
	line    int    // in the file
	command string // for sh
	exit    int    // -1 for any but 0
	says    []*regexp.Regexp
}

// messageTime bounds one command: what is refused for good ends by itself.
const messageTime = 20 * time.Second

// messages is the script command of that name: it runs each command of a file, and looks for cause
// and next step in what it says. An entry is
//
//	$ COMMAND for sh
//	exit CODE (1 if it is left out, * for any but 0)
//	cause REGEXP
//	next REGEXP
func messages(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: messages FILE")
	}
	all, err := readMessages(ts.ReadFile(args[0]))
	ts.Check(err)
	wrong := 0
	for _, m := range all {
		if problem := m.run(ts); problem != "" {
			wrong++
			ts.Logf("%s:%d: %s\n%s", args[0], m.line, m.command, problem)
		}
	}
	ts.Logf("%d messages, each with its cause and what to do next", len(all)-wrong)
	if wrong > 0 {
		ts.Fatalf("%d of %d messages lack something", wrong, len(all))
	}
}

func readMessages(text string) (all []*message, err error) {
	var m *message
	for i, line := range strings.Split(text, "\n") {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if m == nil && word != "$" && word != "" && !strings.HasPrefix(word, "#") {
			return nil, fmt.Errorf("line %d: %q stands before the first command", i+1, word)
		}
		switch {
		case word == "$":
			m = &message{line: i + 1, command: rest, exit: 1}
			all = append(all, m)
		case word == "" || strings.HasPrefix(word, "#"):
		case word == "exit" && rest == "*":
			m.exit = -1
		case word == "exit":
			if m.exit, err = strconv.Atoi(rest); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
		case word == "cause" || word == "next":
			want, err := regexp.Compile(rest)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			m.says = append(m.says, want)
		default:
			return nil, fmt.Errorf("line %d: %q is none of $, exit, cause, next", i+1, word)
		}
	}
	for _, m := range all {
		if len(m.says) < 2 {
			return nil, fmt.Errorf("line %d: a message has a cause and a next step", m.line)
		}
	}
	return all, nil
}

// run returns what is not as it should be.
func (m *message) run(ts *testscript.TestScript) (problem string) {
	limit := strconv.Itoa(int((patience * messageTime).Seconds()))
	cmd, err := scriptCommand(ts, []string{"timeout", limit, "sh", "-c", m.command})
	ts.Check(err)
	output, err := cmd.CombinedOutput()
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		return err.Error()
	}
	if code != m.exit && (m.exit >= 0 || code == 0) {
		problem = fmt.Sprintf("exit code %d, want %d\n", code, m.exit)
	}
	for _, want := range m.says {
		if !want.Match(output) {
			problem += fmt.Sprintf("does not say %s\n", want)
		}
	}
	if problem != "" {
		problem += "it says: " + string(output)
	}
	return problem
}
