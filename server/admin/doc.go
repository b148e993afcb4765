// Package admin is the client side of the command line: the commands that a platform admin runs against a center (skerry space,
// skerry token, skerry status). They talk to the center's kube API with a kubeconfig, like any other client, and hold no privilege
// of their own. It is imported by main.go only.
package admin
