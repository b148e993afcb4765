package agent

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// statusWrites is the metric of how many statuses of SyncTargets the center has written since it
// started.
const statusWrites = `apiserver_request_total{code="200",component="skerry",dry_run="",` +
	`group="skerry.dev",resource="synctargets",scope="resource",subresource="status",verb="PUT",version="v1alpha1"}`

// get asks the center, as its admin, for a page, and gives it to read.
func (c *centerProcess) get(path string, read func(io.Reader) error) {
	c.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		c.t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		c.t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	answer, err := client.Get(config.Host + path)
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		c.t.Fatalf("the center answers %s for %s", answer.Status, path)
	}
	if err := read(answer.Body); err != nil {
		c.t.Fatalf("%s of the center: %v", path, err)
	}
}

// metrics are the values of some of the center's. What it has not counted yet it does not tell:
// that is left out.
func (c *centerProcess) metrics(names ...string) map[string]float64 {
	c.t.Helper()
	out := map[string]float64{}
	c.get("/metrics", func(body io.Reader) error {
		lines := bufio.NewScanner(body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			for _, name := range names {
				text, ok := strings.CutPrefix(lines.Text(), name+" ")
				if !ok {
					continue
				}
				var err error
				if out[name], err = strconv.ParseFloat(text, 64); err != nil {
					return err
				}
			}
		}
		return lines.Err()
	})
	return out
}

// crossed is how many bytes the center has sent on the links of all targets, or received.
func (c *centerProcess) crossed(direction string) (all float64) {
	c.t.Helper()
	c.get("/metrics", func(body io.Reader) error {
		lines := bufio.NewScanner(body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			name, value, _ := strings.Cut(lines.Text(), "} ")
			if !strings.HasPrefix(name, `skerry_link_bytes_total{direction="`+direction+`"`) {
				continue
			}
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return err
			}
			all += n
		}
		return lines.Err()
	})
	return all
}

// written is how many statuses of SyncTargets the center has written since it started.
func (c *centerProcess) written() float64 {
	c.t.Helper()
	return c.metrics(statusWrites)[statusWrites]
}

const (
	// calmWrites is how many statuses a second a calm center writes at most: heartbeats, and how
	// far its targets have got.
	calmWrites = 5
	// calmCPU is what it uses of a core at most, in percent.
	calmCPU = 25
	// calmTime is how long it may take until it is calm.
	calmTime = 10 * time.Minute
)

// quiet waits until the center has next to nothing to do.
func (c *centerProcess) quiet() {
	c.t.Helper()
	began := time.Now()
	for calm := 0; calm < 2; {
		before, from := c.written(), time.Now()
		used := c.idle(2 * time.Second)
		wrote := (c.written() - before) / time.Since(from).Seconds()
		if calm++; used > calmCPU || wrote > calmWrites {
			calm = 0
		}
		if time.Since(began) > calmTime {
			c.t.Fatalf(
				"after %s the center still writes %.1f statuses of SyncTargets a second and uses %.1f %% of a core",
				calmTime,
				wrote,
				used,
			)
		}
	}
}

// profile writes what the center does with its time to a file of SKERRY_FLEET_PROFILES, if there is
// such a directory.
func (c *centerProcess) profile(name string, of time.Duration) {
	c.t.Helper()
	dir := os.Getenv("SKERRY_FLEET_PROFILES")
	if dir == "" {
		return
	}
	for kind, path := range map[string]string{"cpu": fmt.Sprintf("/debug/pprof/profile?seconds=%.0f", of.Seconds()),
		"allocs": "/debug/pprof/allocs", "heap": "/debug/pprof/heap", "goroutine": "/debug/pprof/goroutine"} {
		c.get(path, func(body io.Reader) error {
			f, err := os.Create(dir + "/" + name + "." + kind + ".pb.gz")
			if err != nil {
				return err
			}
			_, err = io.Copy(f, body)
			ignore(f.Close())
			return err
		})
	}
}
