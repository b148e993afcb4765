package admin

import "skerry.dev/skerry/tunnel/commandline"

// What a command line should have been is said in the words of package commandline.
var (
	ErrUsage = commandline.ErrUsage
	Usage    = commandline.Usage
)
