package commandline

import (
	"fmt"
	"slices"
	"strings"
)

// synonyms are words that people write for the commands that there are.
var synonyms = map[string]string{
	"space get": "skerry space list", "space ls": "skerry space list", "space show": "skerry space list",
	"space rm": "skerry space delete", "space remove": "skerry space delete",
	"space describe": "kubectl describe space NAME, in root: skerry space use root",
	"space edit":     "kubectl edit space NAME, in root: skerry space use root",
	"space add":      "skerry space create", "space new": "skerry space create",
	"target get": "skerry target list", "target ls": "skerry target list",
	"target show": "skerry status NAME", "target describe": "skerry status NAME", "target status": "skerry status NAME",
	"target rm": "skerry target remove", "target delete": "skerry target remove",
	"target create": "skerry token create", "target add": "skerry token create", "target join": "skerry token create",
	"target edit":  "kubectl edit synctarget NAME, in root: skerry space use root",
	"target label": "kubectl label synctarget NAME KEY=VALUE, in root: skerry space use root",
	"token get":    "skerry token list", "token ls": "skerry token list", "token rm": "skerry token revoke",
	"token new": "skerry token create", "token add": "skerry token create",
	"backup": "skerry center backup", "restore": "skerry center restore", "join": "skerry token create",
	"drain": "skerry target drain", "cordon": "skerry target cordon", "uncordon": "skerry target uncordon",
	"use": "skerry space use", "sites": "skerry status", "list": "skerry space list, or skerry target list",
	"move": "where something runs is the label skerry.dev/target, or a Placement", "relay": "skerry center --parent",
	"upgrade": "install the newer package, or run skerry install of the newer program",
}

// ofKubectl are kubectl's own commands that people write behind skerry.
var ofKubectl = []string{"get", "apply", "create", "delete", "describe", "edit", "logs", "exec", "cp", "port-forward",
	"label", "annotate", "patch", "scale", "rollout", "top", "events", "wait", "debug", "attach", "diff", "set"}

// instead says what somebody may mean by a command that there is not; "" for nothing that is known.
func instead(path, word string) string {
	_, below, _ := strings.Cut(path, "skerry")
	at := strings.TrimSpace(below)
	switch text := synonyms[strings.TrimSpace(at+" "+word)]; {
	case strings.HasPrefix(text, "skerry ") || strings.HasPrefix(text, "kubectl "):
		return "instead: " + text
	case text != "":
		return text
	}
	if at == "" && slices.Contains(ofKubectl, word) {
		return fmt.Sprintf("instead: kubectl %s, after skerry space use SPACE", word)
	}
	return ""
}
