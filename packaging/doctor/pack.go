package doctor

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/agent"
	"skerry.dev/skerry/agent/goroutines"
	"skerry.dev/skerry/packaging/doctor/bundle"
	serverdoctor "skerry.dev/skerry/server/doctor"
)

// packing is one bundle that is being written.
type packing struct {
	*bundle.Writer
	here *machinePlaces
	say  io.Writer // progress
}

// stepTime bounds what is asked of a running process.
const stepTime = 20 * time.Second

func (d Daemons) pack(c *cli.Context, here *machinePlaces, parts []part) error {
	path := c.String("file")
	if path == "" {
		path = fmt.Sprintf("skerry-support-%s-%s.tar.zst", hostName(), time.Now().UTC().Format("20060102-150405"))
	}
	var known []string
	for _, p := range parts {
		known = append(known, secrets(p.context, here)...)
	}
	w, err := bundle.Create(path, d.Version, bundle.NewScrubber(known...))
	if err != nil {
		return err
	}
	p := &packing{w, here, c.App.ErrWriter}
	p.step("versions")
	p.Add("versions.txt", d.versions(here))
	p.step("findings of the doctor")
	report := examine(c.Context, d.Version, parts)
	p.AddJSON("doctor.json", report)
	var text bytes.Buffer
	if err := report.Print(&text, "wide"); err == nil {
		p.Add("doctor.txt", text.Bytes())
	}
	for _, part := range parts {
		p.part(c.Context, part)
	}
	if err := p.Close(); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "%s: %d kB, %d files. Look into it before you send it: tar --zstd -tvf %[1]s\n",
		path, (info.Size()+999)/1000, len(p.Manifest().Files))
	return err
}

// step says what is done now.
func (p *packing) step(format string, args ...any) {
	fmt.Fprintf(p.say, "packing "+format+"\n", args...)
}

func (p *packing) part(ctx context.Context, of part) {
	p.step("%s: configuration and files", of.name)
	p.Add(of.name+"/config.txt", settings(of.context))
	switch of.name {
	case "center":
		dir := p.here.centerDir(of.context)
		p.files(of.name, dir)
		p.journal(ctx, of.name, centerUnit)
		kubeconfig := filepath.Join(dir, serverdoctor.KubeconfigFile)
		p.center(ctx, of.name, kubeconfig, of.context.String("listen"))
		p.status(of.name, filepath.Join(dir, "uplink"))
	case "workstation":
		p.center(ctx, of.name, workstationFile(of.context, p.here), "")
	default:
		dir := agentDir(of.context, p.here)
		p.files(of.name, dir)
		p.journal(ctx, of.name, agentUnit)
		p.status(of.name, dir)
		p.goroutines(ctx, of.name, dir)
		p.metrics(ctx, of.name, of.context.String("metrics-listen"))
	}
}

func (p *packing) files(part, dir string) {
	name := part + "/files.txt"
	if list, err := bundle.List(dir); err != nil {
		p.Miss(name, "%s", err)
	} else {
		p.Add(name, list)
	}
}

// status is what an agent, or the half of a relay that is one, said of itself.
func (p *packing) status(part, dir string) {
	name := part + "/" + agent.StatusFile
	said, err := agent.ReadStatus(dir)
	if err != nil {
		p.Miss(name, "%s", err)
		return
	}
	p.AddJSON(name, said)
}

// journalLines bounds the lines of a service's log.
const journalLines = "20000"

func (p *packing) journal(ctx context.Context, part, unit string) {
	p.step("%s: log", part)
	name := part + "/journal.log"
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	log, err := exec.CommandContext(ctx, "journalctl", "--unit="+unit, "--lines="+journalLines, "--output=short-iso",
		"--no-pager", "--quiet").Output()
	if err != nil || len(log) == 0 {
		p.Miss(name, "the journal has nothing of %s", unit)
		return
	}
	p.Add(name, log)
}

// center asks a running center.
func (p *packing) center(ctx context.Context, part, kubeconfig, listen string) {
	p.step("%s: sites, metrics and goroutines", part)
	paths := map[string]string{"readyz.txt": "/readyz?verbose", "version.json": "/version", "metrics.txt": "/metrics",
		"goroutines.txt": "/debug/pprof/goroutine?debug=2"}
	remote, err := serverdoctor.Open(kubeconfig, listen)
	if err != nil {
		p.Miss(part+"/sites.json", "%s", err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	objects, err := remote.Objects(ctx)
	if err != nil {
		p.Miss(part+"/sites.json", "%s", err)
	} else {
		p.AddJSON(part+"/sites.json", objects)
	}
	for _, name := range []string{"readyz.txt", "version.json", "metrics.txt", "goroutines.txt"} {
		if text, err := remote.Get(ctx, paths[name]); err != nil {
			p.Miss(part+"/"+name, "%s", err)
		} else {
			p.Add(part+"/"+name, text)
		}
	}
}

// goroutines asks a running agent what it does.
func (p *packing) goroutines(ctx context.Context, part, dir string) {
	p.step("%s: goroutines", part)
	name := part + "/goroutines.txt"
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	text, err := goroutines.Read(ctx, dir)
	if err != nil {
		p.Miss(name, "%s", err)
		return
	}
	p.Add(name, text)
}

// metrics asks the listener of an agent for them, if it has one.
func (p *packing) metrics(ctx context.Context, part, listen string) {
	name := part + "/metrics.txt"
	if listen == "" {
		p.Miss(name, "the agent has no metrics-listen:")
		return
	}
	p.step("%s: metrics", part)
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+listen+"/metrics", nil)
	if err != nil {
		p.Miss(name, "%s", err)
		return
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		p.Miss(name, "%s", err)
		return
	}
	defer response.Body.Close()
	if text, err := bundle.ReadBounded(response.Body); err != nil {
		p.Miss(name, "%s", err)
	} else {
		p.Add(name, text)
	}
}
