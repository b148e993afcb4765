// Command app is the only program in the test image, which is made FROM
// scratch: it stands in for an application, for the pause container, and for
// the shell tools that tests want to exec in a pod. Links make it tar and test, which kubectl cp
// wants. It uses the standard library alone and is linked statically.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// commands maps each subcommand to its implementation and its usage.
var commands = map[string]struct {
	usage string
	run   func(args []string) error
}{
	"serve": {"serve [-listen :8080] [-file FILE]: answer HTTP with pod, node and the file's content", serve},
	"pause": {"pause: wait for SIGTERM", pause},
	"get":   {"get [-n TIMES] URL: print the body of an HTTP answer", get},
	"load":  {"load [-rate N] [-for DURATION] [-timeout DURATION] URL: ask again and again, and tell what was lost", load},
	"dns":   {"dns NAME: print the addresses of a name", lookup},
	"eat":   {"eat [-mib N]: use memory, without an end when N is 0", eat},
	"lines": {"lines [-mib N]: print N MiB of numbered lines, then wait for SIGTERM", lines},
	"cat":   {"cat FILE...: print files", cat},
	"write": {"write FILE TEXT: replace a file's content and sync it", write},
	"/nginx-ingress-controller": {
		"/nginx-ingress-controller FLAGS: what the API sees of ingress-nginx", ingressController,
	},
	"env":         {"env: print the environment", environ},
	"sleep":       {"sleep DURATION: wait, then exit 0", sleep},
	"tar":         {"tar cf - FILE... | -xmf - [-C DIRECTORY]: what kubectl cp needs", archive},
	"tick":        {"tick [-every 1s]: print a numbered line now and again", tick},
	"test":        {"test -d FILE: what kubectl cp asks first", test},
	"hook":        {"hook [-listen :8443] [-certificate DIR]: answer the webhooks of an API server", hook},
	"certificate": {"certificate DIR NAME: write tls.crt and tls.key", certificate},
	"api":         {"api [-token TOKEN] [-body JSON] METHOD PATH: send one request to the API that the pod is given", api},
	"create":      {"create --host NAMES --namespace NS --secret-name NAME: make a webhook's certificate", createSecret},
	"patch": {"patch --webhook-name NAME --namespace NS --secret-name NAME: write it into a configuration",
		patchWebhook},
	"operator": {"operator: hold a Lease, watch ConfigMaps and write others", operator},
}

func main() {
	name := "serve"
	args := os.Args[1:]
	if program := filepath.Base(os.Args[0]); program == "tar" || program == "test" {
		name = program // the links /bin/tar and /bin/test
	} else if len(args) > 0 {
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
