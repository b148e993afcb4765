// Package manifest holds the objects that a new cluster starts with, as
// templates: its storage class, the DNS of a real cluster, the nodes of a
// simulated one. The cluster package applies them.
package manifest

import (
	"bytes"
	"embed"
	"text/template"
)

//go:embed *.yaml
var files embed.FS

var templates = template.Must(template.ParseFS(files, "*.yaml"))

// Storage is the default storage class.
func Storage(provisioner string) []byte { return render("storage.yaml", provisioner) }

// DNS is CoreDNS, serving at the address from the image.
func DNS(address, image string) []byte {
	return render("dns.yaml", struct{ Address, Image string }{address, image})
}

// SimulatedNode is a node that kwok plays.
func SimulatedNode(name string) []byte { return render("node.yaml", name) }

func render(file string, data any) []byte {
	var b bytes.Buffer
	// The templates and what they are given are both in this package, so an
	// error is a mistake in it that any test shows.
	if err := templates.ExecuteTemplate(&b, file, data); err != nil {
		panic(err)
	}
	return b.Bytes()
}
