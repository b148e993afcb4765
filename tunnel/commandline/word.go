package commandline

import (
	"regexp"
	"strings"
)

// plainWord is what a shell takes as one word as it stands.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_%+,./:@=-][A-Za-z0-9_%+,./:@=~-]*$`)

// Word writes an argument of a command that a person is told to run, so that a shell takes it as one word:
// in single quotes where it has to be.
func Word(argument string) string {
	if plainWord.MatchString(argument) {
		return argument
	}
	return "'" + strings.ReplaceAll(argument, "'", `'\''`) + "'"
}
