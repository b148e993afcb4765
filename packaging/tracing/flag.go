package tracing

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"

	"github.com/urfave/cli/v2"
)

// flagName is the name of the flag.
const flagName = "tracing-config"

// Flag names the file of the configuration.
func Flag() cli.Flag {
	return &cli.StringFlag{Name: flagName, EnvVars: []string{"SKERRY_TRACING_CONFIG"},
		Usage: "file with a Kubernetes TracingConfiguration, by which changes are followed as traces of OpenTelemetry; " +
			"empty means off"}
}

// FromFlags opens what the flag says; nil without it. A service is told from others of its name by
// --name, else by the host's name.
func FromFlags(c *cli.Context, service, version string, log *slog.Logger) (*Exporter, error) {
	path := c.String(flagName)
	if path == "" {
		return nil, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("find the host's name: %w", err)
	}
	return Open(c.Context, path, Service{service, cmp.Or(c.String("name"), host), version}, log)
}
