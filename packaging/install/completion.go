package install

import (
	"fmt"

	"github.com/urfave/cli/v2"
)

// CompletionCommand is `skerry completion`.
func CompletionCommand() *cli.Command {
	c := &cli.Command{Name: "completion", Usage: "print a shell's completion script"}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		c.Subcommands = append(c.Subcommands, &cli.Command{
			Name: shell, Usage: "for " + shell,
			Action: func(c *cli.Context) error {
				_, err := fmt.Fprint(c.App.Writer, Completions[shell])
				return err
			},
		})
	}
	return c
}

// Completions are the scripts of each shell. They ask the program itself what may come next, so
// that they know names of spaces and targets too.
var Completions = map[string]string{
	"bash": `_skerry_complete() {
  local words cur="${COMP_WORDS[COMP_CWORD]}"
  [[ $cur == "=" ]] && cur=""
  words=$( "${COMP_WORDS[0]}" complete -- "${COMP_WORDS[@]:1:$COMP_CWORD}" 2>/dev/null )
  COMPREPLY=( $(compgen -W "${words}" -- "${cur}") )
}
complete -o bashdefault -o default -F _skerry_complete skerry kubectl-skerry
`,
	"zsh": `#compdef skerry kubectl-skerry
_skerry() {
  local -a found
  found=(${(f)"$( "${words[1]}" complete -- "${(@)words[2,$CURRENT]}" 2>/dev/null )"})
  if (( $#found )); then compadd -a found; else _files; fi
}
if [[ $funcstack[1] == _skerry ]]; then
  _skerry "$@"
else
  compdef _skerry skerry kubectl-skerry
fi
`,
	"fish": `complete -c skerry -f \
  -a '(set -l w (commandline -opc) (commandline -ct); skerry complete -- $w[2..-1] 2>/dev/null)'
complete -c kubectl-skerry -w skerry
`,
}
