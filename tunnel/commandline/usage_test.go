package commandline

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"
)

// What urfave/cli says of a command line names the flag, what it takes, and the help; all of it is a
// usage error.
func TestUsageErrors(t *testing.T) {
	t.Setenv("SKERRY_TEST_SHARE", "many")
	app := &cli.App{Name: "skerry", Writer: io.Discard, ExitErrHandler: func(*cli.Context, error) {},
		Commands: []*cli.Command{{Name: "do", Action: func(*cli.Context) error { return nil }, Flags: []cli.Flag{
			DurationFlag(time.Second, Bounds{}, "", "wait"), &cli.BoolFlag{Name: "force"}, &cli.StringFlag{Name: "user"},
			DurationFlag(time.Hour, Bounds{time.Minute, Longest}, "", "life"),
			&cli.IntFlag{Name: "count", Aliases: []string{"c"}}}},
			{Name: "share", Flags: []cli.Flag{&cli.IntFlag{Name: "share", EnvVars: []string{"SKERRY_TEST_SHARE"}}},
				Action: func(*cli.Context) error { return nil }}}}
	UsageErrors(app)
	for line, want := range map[string]string{
		"do --wait soon":     `--wait "soon": write a duration, such as 30s, 5m, 24h or 7d; see: skerry do --help`,
		"do --wait=":         `--wait "": write a duration, such as 30s, 5m, 24h or 7d; see: skerry do --help`,
		"do --wait -5s":      `--wait "-5s": write a duration of at least 0s; see: skerry do --help`,
		"do --life long":     `--life "long": write a duration, such as 30s, 5m, 24h or 7d; see: skerry do --help`,
		"do --life 59s":      `--life "59s": write a duration between 1m and 366d; see: skerry do --help`,
		"do --life 1000000h": `--life "1000000h": write a duration between 1m and 366d; see: skerry do --help`,
		"do --life 366d":     "",
		"do --count many":    `--count "many": write a whole number; see: skerry do --help`,
		"do -c many":         `-c "many": write a whole number; see: skerry do --help`,
		"do --force=perhaps": `--force "perhaps": write true or false; see: skerry do --help`,
		"do --user":          "--user needs a value; see: skerry do --help",
		"do --wiat 1s":       "unknown flag --wiat; did you mean --wait? see: skerry do --help",
		"do --nonsense":      "unknown flag --nonsense; see: skerry do --help",
		"--nonsense":         "unknown flag --nonsense; see: skerry --help",
		"share":              `SKERRY_TEST_SHARE="many": write a whole number; see: skerry share --help`,
		"share --share 1":    `SKERRY_TEST_SHARE="many": write a whole number; see: skerry share --help`,
		"do --wait 1s":       "",
	} {
		err := app.RunContext(context.Background(), append([]string{"skerry"}, strings.Fields(line)...))
		if text(err) != want || err != nil && !errors.Is(err, ErrUsage) {
			t.Errorf("skerry %s\n got %v\nwant %s", line, err, want)
		}
	}
}

func TestRequiredFlagFromEnvironment(t *testing.T) {
	app := &cli.App{Name: "skerry", Commands: []*cli.Command{{Name: "do", Flags: []cli.Flag{
		&cli.StringFlag{Name: "user", Required: true, EnvVars: []string{"SKERRY_TEST_USER"}}}}}}
	line := []string{"skerry", "do"}
	if err := CheckArguments(app, line); text(err) != "--user is required; see: skerry do --help" || !errors.Is(err, ErrUsage) {
		t.Errorf("without the flag: %v", err)
	}
	t.Setenv("SKERRY_TEST_USER", "alice")
	if err := CheckArguments(app, line); err != nil {
		t.Errorf("the environment sets it: %v", err)
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
