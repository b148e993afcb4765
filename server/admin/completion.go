package admin

import (
	"fmt"

	"github.com/urfave/cli/v2"
)

// bashCompletion asks the program itself what may come next.
const bashCompletion = `_skerry_complete() {
  local words
  words=$( "${COMP_WORDS[@]:0:$COMP_CWORD}" --generate-bash-completion 2>/dev/null )
  COMPREPLY=( $(compgen -W "${words}" -- "${COMP_WORDS[COMP_CWORD]}") )
}
complete -o bashdefault -o default -F _skerry_complete skerry
`

const zshCompletion = `#compdef skerry
_skerry() {
  local -a words_
  words_=("${(@f)$( "${words[@]:0:#words[@]-1}" --generate-bash-completion 2>/dev/null )}")
  compadd -a words_
}
compdef _skerry skerry
`

// CompletionCommand is `skerry completion`.
func CompletionCommand() *cli.Command {
	script := func(name, text string) *cli.Command {
		return &cli.Command{
			Name:  name,
			Usage: "source <(skerry completion " + name + ")",
			Action: func(c *cli.Context) error {
				_, err := fmt.Fprint(c.App.Writer, text)
				return err
			},
		}
	}
	return &cli.Command{Name: "completion", Usage: "print a shell's completion script",
		Subcommands: []*cli.Command{script("bash", bashCompletion), script("zsh", zshCompletion)}}
}
