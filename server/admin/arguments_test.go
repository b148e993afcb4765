package admin

import (
	"errors"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/tunnel/commandline"
)

func TestCheckArguments(t *testing.T) {
	app := &cli.App{Name: "skerry", Commands: []*cli.Command{SpaceCommand(), StatusCommand(), TargetCommand(),
		RenderCommand(), ExplainCommand(), RolloutCommand(),
		{Name: "complete", Hidden: true, SkipFlagParsing: true},
		{Name: "center", Flags: []cli.Flag{&cli.StringFlag{Name: "data-dir"}}, Action: func(*cli.Context) error { return nil },
			Subcommands: []*cli.Command{{Name: "backup", ArgsUsage: "FILE"}}}}}
	for in, want := range map[string]string{
		"skerry":                                   "",
		"skerry --help":                            "",
		"skerry help space":                        "",
		"skerry help foo":                          `unknown command "foo"; see: skerry --help`,
		"skerry foo":                               `unknown command "foo"; see: skerry --help`,
		"skerry foo --help":                        `unknown command "foo"; see: skerry --help`,
		"skerry spcae":                             `unknown command "spcae"; did you mean "space"? see: skerry --help`,
		"skerry stat":                              `unknown command "stat"; did you mean "status"? see: skerry --help`,
		"skerry complet":                           `unknown command "complet"; see: skerry --help`,
		"skerry get pods":                          `unknown command "get"; instead: kubectl get, after skerry space use SPACE; see: skerry --help`,
		"skerry target delete a":                   `unknown command "delete"; instead: skerry target remove; see: skerry target --help`,
		"skerry target rename a b":                 "",
		"skerry target rename a b c":               `unexpected argument "c"; see: skerry target rename --help`,
		"skerry space get shop":                    `unknown command "get"; instead: skerry space list; see: skerry space --help`,
		"skerry space foo":                         `unknown command "foo"; see: skerry space --help`,
		"skerry space creat shop":                  `unknown command "creat"; did you mean "create"? see: skerry space --help`,
		"skerry space create shop --wait 1m":       "",
		"skerry space create shop two":             `unexpected argument "two"; see: skerry space create --help`,
		"skerry space create shop two --wait 1m":   `unexpected argument "two"; see: skerry space create --help`,
		"skerry space create shop -- two":          `unexpected argument "--"; see: skerry space create --help`,
		"skerry space create shop two --help":      "",
		"skerry space create --wiat 1m shop":       "", // urfave/cli names the flag
		"skerry space list all":                    `unexpected argument "all"; see: skerry space list --help`,
		"skerry status -o json lisbon":             "",
		"skerry status -o json lisbon oslo":        `unexpected argument "oslo"; see: skerry status --help`,
		"skerry space create shop --wait":          "--wait needs a value; see: skerry space create --help",
		"skerry space import shop":                 "--filename is required; see: skerry space import --help",
		"skerry space import":                      "--filename is required; see: skerry space import --help",
		"skerry space import shop -f file":         "",
		"skerry space import shop --filename=file": "",
		"skerry space import --help":               "",
		"skerry status help":                       "",
		"skerry render deployment web --diff":      "",
		"skerry render deployment web more":        `unexpected argument "more"; see: skerry render --help`,
		"skerry explain placement deployment web":  "",
		"skerry target accept one two three":       "",
		"skerry center --data-dir d":               "",
		"skerry center --data-dir d foo":           `unknown command "foo"; see: skerry center --help`,
		"skerry center --data-dir d backup f":      "",
		"skerry center --data-dir backup backup f": "",
		"skerry center --data-dir=d backup f g":    `unexpected argument "g"; see: skerry center backup --help`,
		"skerry complete -- space create foo bar":  "",
	} {
		err := commandline.CheckArguments(app, commandline.FlagsFirst(app, strings.Fields(in)))
		if got := text(err); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		} else if err != nil && !errors.Is(err, ErrUsage) {
			t.Errorf("%s: %v is not a usage error", in, err)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
