//go:build agentonly

package packaging

import "github.com/urfave/cli/v2"

func commands() []*cli.Command { return []*cli.Command{agentCommand(), volumeCommand()} }

func name() string { return "skerry" }

func called(args []string) []string { return args }

func message(err error) string { return err.Error() }

func unsound(error) bool { return false }
