package install

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// asProgram makes this test the program that its completion scripts ask.
const asProgram = "SKERRY_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}
	app := someApp()
	app.Commands = append(app.Commands, CompleteCommand(func(_ context.Context, _, kind string) []string {
		return map[string][]string{"spaces": {"shop", "harbour"}, "targets": {"edge", "paris"},
			"objects///deployment": {"web", "db"}, "objects/shop/app/deployment": {"shop-web"},
			"objects///services": {"web"}, "objects///serviceimports": {"stock"},
			"objects/shop/app/serviceimports": {"more"}}[kind]
	}))
	if err := app.Run(ForKubectl(os.Args)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// shells complete the last word of a line: each is given the line and the directory of the program.
var shells = map[string]func(t *testing.T, dir, line string) []string{"bash": inBash, "zsh": inZsh, "fish": inFish}

// TestShells: real shells complete commands, flags, values and names by the scripts that packages
// have. SKERRY_SHELLS=1 refuses a machine that lacks one of them; make completion sets it.
func TestShells(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "skerry")); err != nil {
		t.Fatal(err)
	}
	t.Setenv(asProgram, "1")
	eachShell(t, dir, map[string][]string{
		"skerry sp":                                 {"space"},
		"skerry space ":                             {"create", "list", "use"},
		"skerry space use --a":                      {"--at"},
		"skerry space list -o ":                     {"json", "name", "yaml"},
		"skerry space list -o j":                    {"json"},
		"skerry space use ":                         {"harbour", "shop"},
		"skerry space use --at p":                   {"paris"},
		"skerry status ":                            {"edge", "paris"},
		"skerry status --space s":                   {"shop"},
		"skerry status --target ":                   {"edge", "paris"},
		"skerry center --data-dir /etc":             {},
		"skerry explain placement ":                 resources,
		"skerry trace ":                             {"stock", "web"},
		"skerry trace --from paris s":               {"stock"},
		"skerry trace -n app --space shop --from e": {"edge"},
		"skerry trace -n app --space shop ":         {"more"},
		"skerry explain placement dep":              {"deployment"},

		"skerry explain placement deployment ":                       {"db", "web"},
		"skerry explain placement deployment/w":                      {"deployment/web"},
		"skerry explain placement --space shop -n app deployment/s":  {"deployment/shop-web"},
		"skerry explain placement --space=shop -n app deployment sh": {"shop-web"},
	})
}

// TestKubectlCompletes: kubectl asks for what may come behind `kubectl skerry`, and is told whether files may.
func TestKubectlCompletes(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), KubectlName)
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	for words, want := range map[string]string{
		"space use ":         "shop\nharbour\n:4\n",
		"status --t":         "--target\n:4\n",
		"center --data-dir ": ":0\n",
	} {
		cmd := exec.CommandContext(t.Context(), program, strings.Split(words, " ")...)
		cmd.Env = append(os.Environ(), asProgram+"=1")
		out, err := cmd.Output()
		if err != nil || string(out) != want {
			t.Errorf("kubectl skerry %s: %v, got %q, want %q", words, err, out, want)
		}
	}
}

// TestShellsProgram: the same with the built program, SKERRY_BIN.
func TestShellsProgram(t *testing.T) {
	program := os.Getenv("SKERRY_BIN")
	if program == "" {
		t.Skip("SKERRY_BIN names no program")
	}
	dir := t.TempDir()
	if err := os.Symlink(program, filepath.Join(dir, "skerry")); err != nil {
		t.Fatal(err)
	}
	eachShell(t, dir, map[string][]string{
		"skerry sta":                   {"status"},
		"skerry space ex":              {"export"},
		"skerry status --pr":           {"--problems"},
		"skerry target list -o ":       {"json", "name", "table", "wide", "yaml"},
		"skerry space grant --role ed": {"edit"},
		"skerry center --log-format ":  {"json", "text"},
	})
}

func eachShell(t *testing.T, dir string, lines map[string][]string) {
	for shell, complete := range shells {
		t.Run(shell, func(t *testing.T) {
			if _, err := exec.LookPath(shell); err != nil {
				if os.Getenv("SKERRY_SHELLS") != "" {
					t.Fatal(err)
				}
				t.Skip(err)
			}
			for line, want := range lines {
				got := complete(t, dir, line)
				slices.Sort(got)
				if got = slices.Compact(got); len(want) > 0 && !slices.Equal(got, want) {
					t.Errorf("%q: got %q, want %q", line, got, want)
				} else if len(want) == 0 && slices.Contains(got, "shop") {
					t.Errorf("%q: got names: %q", line, got)
				}
			}
		})
	}
}

// inShell runs a script, with the directory of the program first in PATH, and returns its lines.
func inShell(t *testing.T, dir, script string, argv ...string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], append(argv[1:], path)...)
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "HOME="+dir, "XDG_CONFIG_HOME="+dir,
		"XDG_DATA_HOME="+dir, "TERM=dumb")
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", argv[0], err, &problems)
	}
	return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' })
}

// inBash calls what `complete` has registered for skerry, with the words that bash would give it.
func inBash(t *testing.T, dir, line string) []string {
	return inShell(t, dir, Completions["bash"]+`
complete -p skerry kubectl-skerry >/dev/null || exit 1
read -r -a COMP_WORDS <<<"`+line+`"
[[ "`+line+`" == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
_skerry_complete
printf '%s\n' "${COMPREPLY[@]}"
`, "bash", "--norc", "--noprofile")
}

// inZsh types the line and the tab key into an interactive zsh that found the script in its fpath, and
// reads what was added to the list of matches.
func inZsh(t *testing.T, dir, line string) []string {
	functions := filepath.Join(dir, "functions")
	if err := put(filepath.Join(functions, "_skerry"), Completions["zsh"], 0o644); err != nil {
		t.Fatal(err)
	}
	found := filepath.Join(t.TempDir(), "found")
	begin := filepath.Join(dir, "begin.zsh")
	if err := put(begin, `
fpath=(`+functions+` $fpath)
autoload -Uz compinit && compinit -u -d `+dir+`/dump
bindkey '^I' complete-word
compadd() {
  local -a hits
  builtin compadd -A hits "$@"
  (( $#hits )) && print -rl -- $hits >>`+found+`
  builtin compadd "$@"
}
over() { print over >>`+found+` }
comppostfuncs=(over)
print ready >`+found+`
`, 0o600); err != nil {
		t.Fatal(err)
	}
	lines := inShell(t, dir, `
zmodload zsh/zpty
await() {
  for i in {1..300}; do
    [[ -f `+found+` ]] && grep -q "^$1\$" `+found+` && return
    zpty -rt z ignored; sleep 0.05
  done
  print -u2 "zsh does not come to: $1"; exit 1
}
zpty -b z zsh -f -i
zpty -w z 'source `+begin+`'
await ready
zpty -w -n z "`+line+`"$'\t'
await over
zpty -d z
cat `+found+`
`, "zsh", "-f")
	return slices.DeleteFunc(lines, func(l string) bool { return l == "ready" || l == "over" })
}

// inFish asks fish what it would offer.
func inFish(t *testing.T, dir, line string) []string {
	out := inShell(t, dir, Completions["fish"]+"\ncomplete -C '"+line+"'\n", "fish", "--no-config")
	for i := range out {
		out[i], _, _ = strings.Cut(out[i], "\t")
	}
	return out
}
