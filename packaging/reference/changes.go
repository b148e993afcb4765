package reference

import (
	"fmt"
	"io/fs"
	"strings"
)

// areas are the pages of changes, in the order of their index: a directory of the changelog, and
// what it is about.
var areas = []struct{ dir, title, about string }{
	{"api", "The API of a space", "what a space serves, and what behaves as in a cluster"},
	{"placement", "Placement and moves", "where objects run, and how that changes: drain, rollouts, leases"},
	{"status", "Status, events, metrics", "what spaces and admins are told of sites"},
	{"streams", "Reaching into Pods", "logs, exec, port-forward, views of a site"},
	{"controllers", "Controllers and webhooks", "operators in spaces, definitions, webhooks"},
	{"sites", "Sites and agents", "what an agent does beside its cluster"},
	{"links", "Links", "how a site and its center talk, and what it costs"},
	{"relays", "Relays", "centers between a center and its sites"},
	{"security", "Security and users", "who may do what: people, spaces, sites"},
	{"storage", "The center's data", "datastores, replicas, backup, memory"},
	{"install", "Install and command line", "packages, commands, doctor, documentation"},
}

// Changes returns the pages of packaging/docs/changes by their file name: one for each directory of
// a changelog, which holds one file for each change, and an index. It refuses a directory that is no
// area, and a file beside them. Links lead from a file of the changelog, and from the page then.
func Changes(changelog fs.FS) (map[string]string, error) {
	entries, err := fs.ReadDir(changelog, ".")
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, a := range areas {
		known[a.dir] = true
	}
	for _, e := range entries {
		if !e.IsDir() || !known[e.Name()] {
			return nil, fmt.Errorf("%s: a change stands in the directory of its area: one of %s", e.Name(), areaNames())
		}
	}
	pages := map[string]string{}
	index := "# What is new\n\n" + generated + "\n| area | what | changes |\n|---|---|---|\n"
	for _, a := range areas {
		files, err := fs.Glob(changelog, a.dir+"/*.md")
		if err != nil {
			return nil, err
		}
		page := "# " + a.title + "\n\n" + generated + "\n"
		for _, file := range files {
			text, err := fs.ReadFile(changelog, file)
			if err != nil {
				return nil, err
			}
			page += strings.ReplaceAll(bullet(string(text)), "](../../../docs/", "](../")
		}
		pages[a.dir+".md"] = page
		index += fmt.Sprintf("| [%s](%s.md) | %s | %d |\n", a.title, a.dir, a.about, len(files))
	}
	pages["README.md"] = index
	return pages, nil
}

// bullet returns a change as items of a list, which many files have it as already.
func bullet(text string) string {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "- ") {
		return text + "\n"
	}
	return "- " + strings.ReplaceAll(text, "\n", "\n  ") + "\n"
}

func areaNames() string {
	var names []string
	for _, a := range areas {
		names = append(names, a.dir)
	}
	return strings.Join(names, ", ")
}
