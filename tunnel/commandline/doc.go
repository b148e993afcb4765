// Package commandline is how every program of Skerry reads what a person writes: the command line, the
// environment and a file of configuration, in this order. What cannot be meant is an ErrUsage, which
// names the flag and says what to write instead.
//
//	args := commandline.FlagsFirst(app, os.Args)      // flags may stand behind arguments
//	err := commandline.CheckArguments(app, args)      // unknown commands, too many arguments
//	commandline.UsageErrors(app)                      // what urfave/cli says, in the same words
//	command.Before = commandline.FromFile             // agent.yaml sets the flags that nobody set
package commandline
