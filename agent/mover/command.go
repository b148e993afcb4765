package mover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/tunnel/output"
)

// Commands are the two ends of a copy, which speak to each other over standard input and output, and what their
// Pods do meanwhile. usage makes the error of a wrong command line.
func Commands(usage func(format string, args ...any) error) []*cli.Command {
	return []*cli.Command{
		{
			Name:      "send",
			Usage:     "one end of skerry volume copy: what DIR holds goes to standard output, as the other end asks for it",
			ArgsUsage: "DIR",
			Flags: []cli.Flag{
				&cli.BoolFlag{Name: "live",
					Usage: "others write to DIR meanwhile: what was copied is not compared at the end"},
				&cli.StringFlag{Name: "memory", Usage: "a file outside of DIR: what earlier rounds have sent of this volume, to " +
					"a receiver with a memory; it is not sent again"},
				&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "json: what is said on standard error are " +
					"reports, one a line"},
			},
			Action: func(c *cli.Context) error {
				tell := tellText
				switch c.String("output") {
				case "":
				case "json":
					tell = tellJSON
				default:
					return usage("-o %s: only json is known", c.String("output"))
				}
				return inDir(c, usage, func(ctx context.Context, root *os.Root, rw io.ReadWriteCloser) error {
					s := NewSender(root)
					if path := c.String("memory"); path != "" {
						s.Remember(path)
					}
					return send(ctx, s, rw, c.Bool("live"), tell, c.App.ErrWriter)
				})
			},
		},
		{
			Name: "receive",
			Usage: "the other end of skerry volume copy: DIR becomes like what standard input brings, and has nothing " +
				"else then",
			ArgsUsage: "DIR",
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "memory", Usage: "a file outside of DIR: what earlier rounds have read back; it is not " +
					"read again. Not with --standby"},
				&cli.TimestampFlag{Name: "standby", Layout: time.RFC3339,
					Usage: "DIR is a standby: a round changes nothing before all of it is there; this one began at this time"},
				&cli.TimestampFlag{Name: "whole", Layout: time.RFC3339,
					Usage: "with --standby: DIR holds the round that began at this time, also where it does not say so"},
			},
			Action: func(c *cli.Context) error {
				of, memory := Standby{}, c.String("memory")
				if at := c.Timestamp("standby"); at != nil {
					of.At = *at
				}
				if at := c.Timestamp("whole"); at != nil {
					of.Whole = *at
				}
				if memory != "" && of != (Standby{}) {
					return usage("--memory is not for a standby, whose rounds are not read back: leave one of both out")
				}
				return inDir(c, usage, func(ctx context.Context, root *os.Root, rw io.ReadWriteCloser) error {
					if memory != "" {
						return ReceiveAgain(ctx, root, rw, memory)
					}
					return ReceiveStandby(ctx, root, rw, of)
				})
			},
		},
		{
			Name:      "settle",
			Usage:     "end what a round into a standby has begun, and print which round DIR holds",
			ArgsUsage: "DIR",
			Flags: []cli.Flag{&cli.BoolFlag{Name: "release",
				Usage: "DIR is to be begun on: remove what is of the standby alone"}},
			Action: func(c *cli.Context) error {
				return inDir(c, usage, func(ctx context.Context, root *os.Root, _ io.ReadWriteCloser) error {
					is, err := Settle(ctx, root, c.Bool("release"))
					if err == nil {
						err = json.NewEncoder(c.App.Writer).Encode(is)
					}
					return err
				})
			},
		},
		{
			Name:  "pause",
			Usage: "do nothing until SIGTERM: the command of a Pod that has a volume for skerry volume copy",
			Action: func(c *cli.Context) error {
				<-c.Context.Done()
				return nil
			},
		},
	}
}

// stdio is standard input and output as one stream.
type stdio struct {
	io.Reader
	io.Writer
}

// Close ends what the other side reads.
func (stdio) Close() error { return errors.Join(os.Stdin.Close(), os.Stdout.Close()) }

func inDir(
	c *cli.Context, usage func(format string, args ...any) error,
	do func(ctx context.Context, root *os.Root, rw io.ReadWriteCloser) error,
) error {
	if c.NArg() != 1 {
		return usage("give one directory: %s DIR", c.Command.HelpName)
	}
	root, err := os.OpenRoot(c.Args().First())
	if err != nil {
		return fmt.Errorf("open the volume: %w", err)
	}
	defer root.Close()
	// Reading standard input may not end when it is closed.
	ended := make(chan error, 1)
	go func() { ended <- do(c.Context, root, stdio{os.Stdin, os.Stdout}) }()
	select {
	case err := <-ended:
		return err
	case <-c.Context.Done():
		return context.Cause(c.Context)
	}
}

// tellEvery is how often a sender says how far it is.
const tellEvery = 2 * time.Second

// teller says how far a round is, or, with end, what it has done.
type teller func(out io.Writer, r Report, end string)

func send(ctx context.Context, s *Sender, rw io.ReadWriteCloser, live bool, tell teller, out io.Writer) error {
	var told time.Time
	s.Tell = func(r Report) {
		if now := time.Now(); now.Sub(told) >= tellEvery {
			told = now
			tell(out, r, "")
		}
	}
	round, end := s.Verify, "the copy was read back and holds the same"
	if live {
		round, end = s.Round, "the copy was not compared"
	}
	r, err := round(ctx, rw)
	if err != nil {
		return err
	}
	tell(out, r, end)
	return nil
}

func tellJSON(out io.Writer, r Report, _ string) {
	_ = json.NewEncoder(out).Encode(r) // who does not listen any more is not told
}

func tellText(out io.Writer, r Report, end string) {
	if end == "" {
		fmt.Fprintf(out, "%d files, %s, of which %s were sent\n", r.Files, output.Bytes(r.Bytes), output.Bytes(r.Sent))
		return
	}
	fmt.Fprintf(out, "%d files and %d directories, %s, of which %s were sent; %s\n", r.Files, r.Dirs,
		output.Bytes(r.Bytes), output.Bytes(r.Sent), end)
	for _, one := range []struct {
		what  string
		names Names
	}{{"not copied, since it is no file, directory or link", r.Skipped}, {"could not be set at the copy", r.Unkept}} {
		for _, name := range one.names.First {
			fmt.Fprintf(out, "%s: %s\n", one.what, name)
		}
		if more := one.names.Count - int64(len(one.names.First)); more > 0 {
			fmt.Fprintf(out, "%s: %d more\n", one.what, more)
		}
	}
}
