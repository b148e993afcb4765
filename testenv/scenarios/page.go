package scenarios

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"skerry.dev/skerry/testenv/artifact"
)

// pageTimeout bounds the commands of one page.
const pageTimeout = 8 * time.Minute

// runPage is the script command page. It runs the commands of a page of the documentation as a
// reader does who pastes one block after the other into a shell, and stops at the first that fails.
func (r *runner) runPage(ts *testscript.TestScript, neg bool, args []string) {
	machine := ""
	if len(args) > 0 && strings.HasPrefix(args[0], "@") {
		machine, args = args[0][1:], args[1:]
	}
	if neg || len(args) == 0 {
		ts.Fatalf("usage: page [@MACHINE] FILE[#SECTION] [FROM=TO...]")
	}
	name, section, _ := strings.Cut(args[0], "#")
	file := filepath.Join(ts.Getenv(artifact.SourceVariable), "..", "packaging", "docs", name)
	text, err := os.ReadFile(filepath.Clean(file))
	ts.Check(err)
	var pairs []string
	for _, arg := range args[1:] {
		from, to, found := strings.Cut(arg, "=")
		if !found || !bytes.Contains(text, []byte(from)) {
			ts.Fatalf("page: %s has no %q to replace", name, from)
		}
		pairs = append(pairs, from, to)
	}
	script, blocks := pageScript(name, section, strings.NewReplacer(pairs...).Replace(string(text)))
	if blocks == 0 {
		ts.Fatalf("page: %s has no block of sh", args[0])
	}
	var cmd *exec.Cmd
	if machine != "" {
		cmd = machineOf(ts, machine).command("cd /root; export HOME=/root\n" + script)
	} else {
		cmd, err = scriptCommand(ts, []string{"bash", "-c", script})
		ts.Check(err)
	}
	log := strings.ReplaceAll(args[0], "/", "_") + ".log"
	output, err := os.Create(filepath.Clean(ts.MkAbs(log)))
	ts.Check(err)
	defer output.Close()
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what it leaves behind ends with the page
	ts.Check(cmd.Start())
	// What a page starts in the background lives until the script ends, so that it can be looked at.
	ts.Defer(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	timer := time.AfterFunc(patience*pageTimeout, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	began := time.Now()
	err = cmd.Wait()
	timer.Stop()
	if err != nil {
		ts.Fatalf("%s after %.1fs: %v\n%s", args[0], time.Since(began).Seconds(), err,
			readLog(ts, strings.TrimSuffix(log, ".log")))
	}
	ts.Logf("%s: %d blocks of commands in %.1fs", args[0], blocks, time.Since(began).Seconds())
}

// pageScript returns what the blocks of sh in a page are as one script of bash, and how many they
// are: those of one section, by its name in links (GitHub's way), or all. Each begins with a command
// that tells where it is, for the trace that is read when one fails.
func pageScript(name, section, text string) (script string, blocks int) {
	var b strings.Builder
	b.WriteString("set -euo pipefail\nset -x\n")
	fenced, block := false, false
	wanted, level := section == "", 0
	for i, line := range strings.Split(text, "\n") {
		heading := strings.TrimLeft(line, "#")
		switch depth := len(line) - len(heading); {
		case fenced && line == "```":
			fenced, block = false, false
		case fenced:
			if block {
				b.WriteString(line + "\n")
			}
		case strings.HasPrefix(line, "```"):
			fenced = true
			if block = wanted && line == "```sh"; block {
				blocks++
				fmt.Fprintf(&b, ": %s:%d\n", name, i+1)
			}
		case depth > 0 && strings.HasPrefix(heading, " ") && section != "":
			if slug(heading) == section {
				wanted, level = true, depth
			} else if depth <= level {
				wanted = false
			}
		}
	}
	return b.String(), blocks
}

// slug is the name of a heading in links.
func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return -1
	}, strings.ToLower(strings.TrimSpace(heading)))
}
