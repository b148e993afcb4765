// Command app is the only program in the test image, which is made FROM
// scratch: it stands in for an application, for the pause container, and for
// the shell tools that tests want to exec in a pod. It uses the standard library
// alone and is linked statically.
package main

import (
	"fmt"
	"os"
)

// commands maps each subcommand to its implementation and its usage.
var commands = map[string]struct {
	usage string
	run   func(args []string) error
}{
	"serve":    {"serve [-listen :8080] [-file FILE]: answer HTTP with pod, node and the file's content", serve},
	"pause":    {"pause: wait for SIGTERM", pause},
	"get":      {"get [-n TIMES] URL: print the body of an HTTP answer", get},
	"dns":      {"dns NAME: print the addresses of a name", lookup},
	"eat":      {"eat [-mib N]: use memory, without an end when N is 0", eat},
	"lines":    {"lines [-mib N]: print N MiB of numbered lines, then wait for SIGTERM", lines},
	"api":      {"api [-token TOKEN] [-body JSON] METHOD PATH: send one request to the API that the pod is given", api},
	"operator": {"operator: hold a Lease, watch ConfigMaps and write others", operator},
	"cat":      {"cat FILE...: print files", cat},
	"write":    {"write FILE TEXT: replace a file's content and sync it", write},
	"env":      {"env: print the environment", environ},
	"sleep":    {"sleep DURATION: wait, then exit 0", sleep},
}

func main() {
	name := "serve"
	args := os.Args[1:]
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	command, ok := commands[name]
	if !ok {
		fmt.Fprintln(os.Stderr, "app: no command", name)
		for _, c := range commands {
			fmt.Fprintln(os.Stderr, "  app", c.usage)
		}
		os.Exit(2)
	}
	if err := command.run(args); err != nil {
		fmt.Fprintf(os.Stderr, "app %s: %v\n", name, err)
		os.Exit(1)
	}
}
