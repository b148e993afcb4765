//go:build !agentonly

package packaging

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/packaging/doctor"
	"skerry.dev/skerry/packaging/install"
	"skerry.dev/skerry/packaging/reference"
	"skerry.dev/skerry/server"
	"skerry.dev/skerry/server/admin"
	"skerry.dev/skerry/server/admin/credential"
	"skerry.dev/skerry/tunnel/commandline"
)

func commands() []*cli.Command {
	return reference.WithExamples([]*cli.Command{centerCommand(), agentCommand(), server.TokenCommand(),
		admin.SpaceCommand(), admin.LoginCommand(), credential.Command(commandline.Usage),
		admin.TargetCommand(), admin.RebalanceCommand(), admin.CACommand(), admin.StatusCommand(),
		admin.ExplainCommand(), admin.TraceCommand(), admin.RenderCommand(), admin.RolloutCommand(),
		volumeCommand(admin.CopyVolumeCommand(), admin.ListVolumesCommand(), admin.PromoteVolumeCommand(),
			admin.ForgetVolumeCommand()),
		install.Command(commandline.Usage, install.Checks{"center": checkCenter, "agent": checkAgent}),
		install.UninstallCommand(), install.CompletionCommand(),
		install.CompleteCommand(server.Names), doctor.Command(daemons()), doctor.BundleCommand(daemons())})
}

// daemons are what `skerry doctor` looks at.
func daemons() doctor.Daemons {
	return doctor.Daemons{Center: centerCommand().Flags, Agent: agentCommand().Flags, Keys: server.CheckKeys,
		Encryption: server.CheckEncryption, Version: version}
}

// name is that of the program, as the plugin of kubectl with the words by which kubectl knows it.
func name() string {
	if filepath.Base(os.Args[0]) == "kubectl-skerry" {
		return "kubectl skerry"
	}
	return "skerry"
}

// called are the arguments of the process, as the plugin of kubectl is called for completions, too.
func called(args []string) []string { return install.ForKubectl(args) }

// message is what a person is told of an error.
func message(err error) string { return admin.Message(err) }

// unsound reports whether an error says that a command has found something wrong.
func unsound(err error) bool { return errors.Is(err, admin.ErrProblems) }
