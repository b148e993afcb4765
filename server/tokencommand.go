package server

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/server/admin"
	"skerry.dev/skerry/server/sessions"
	"skerry.dev/skerry/tunnel/commandline"
)

// TokenCommand is `skerry token` with its subcommands.
func TokenCommand() *cli.Command {
	create := func(c *cli.Context) error {
		if err := admin.CheckJoinOutput(c.String("output")); err != nil {
			return err
		}
		uses := c.Int("uses")
		if uses < 1 || uses > sessions.MaxTokenUses {
			return commandline.Usage("--uses %d: a token joins 1 to %d sites; for more make several tokens",
				uses, sessions.MaxTokenUses)
		}
		l, err := commandline.Labels(c)
		if err != nil {
			return err
		}
		if err := sessions.CheckLabels(l); err != nil {
			return commandline.Usage("--labels: %s", err)
		}
		root, parent, err := admin.RootConfig(c.String("kubeconfig"))
		if err == nil {
			err = admin.CheckCenter(c.Context, root)
		}
		if err != nil {
			return err
		}
		token, err := sessions.CreateToken(c.Context, root,
			sessions.TokenOptions{Labels: l, TTL: c.Duration("ttl"), Uses: uses})
		if err != nil {
			return err
		}
		return admin.PrintJoin(c.App.Writer, c.String("output"), parent, token, c.Duration("ttl"), uses)
	}
	list := func(c *cli.Context) error {
		if err := admin.PrintTokens(io.Discard, c.String("output"), nil); err != nil {
			return err // of the format, before anybody is asked
		}
		root, _, err := admin.RootConfig(c.String("kubeconfig"))
		if err == nil {
			err = admin.CheckCenter(c.Context, root)
		}
		if err != nil {
			return err
		}
		infos, err := sessions.ListTokens(c.Context, root)
		if err != nil {
			return err
		}
		tokens := make([]admin.Token, len(infos))
		for i, t := range infos {
			tokens[i] = admin.Token{ID: t.ID, Expires: t.Expires, Labels: t.Labels, Uses: t.Uses, UsedBy: t.UsedBy}
		}
		return admin.PrintTokens(c.App.Writer, c.String("output"), tokens)
	}
	revoke := func(c *cli.Context) error {
		id, err := admin.OneArgument(c, "token's id (skerry token list)")
		if err != nil {
			return err
		}
		root, _, err := admin.RootConfig(c.String("kubeconfig"))
		if err == nil {
			err = admin.CheckCenter(c.Context, root)
		}
		if err != nil {
			return err
		}
		dry := ""
		if c.Bool("dry-run") {
			dry = " (dry run: nothing was changed)"
		}
		if err := sessions.RevokeToken(c.Context, root, id, dry != ""); err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.App.Writer, "token %s revoked%s\n", id, dry)
		return err
	}
	return &cli.Command{Name: "token", Usage: "make, list and revoke join tokens", Subcommands: []*cli.Command{
		{Name: "create", Usage: "make a token that joins a site, and print the command to run there", Action: create,
			Flags: admin.ClientFlags(admin.JoinOutputFlag(),
				&cli.StringSliceFlag{Name: "labels",
					Usage: "k=v labels that each of its sites will have here, whatever the site says"},
				&cli.IntFlag{Name: "uses", Value: 1, Usage: "how many sites it joins, up to 1000; each with a name of its own"},
				commandline.DurationFlag(24*time.Hour, commandline.Bounds{Least: time.Second, Most: commandline.Longest},
					"how long it may be used, such as 30m or 7d, at most 366d", "ttl"))},
		{
			Name:   "list",
			Usage:  "list the tokens; secrets are not kept and cannot be shown",
			Action: list,
			Flags:  admin.ClientFlags(admin.ListFlag()),
		},
		{Name: "revoke", Aliases: []string{"delete"}, Usage: "make a token useless", ArgsUsage: "ID", Action: revoke,
			Flags: admin.ClientFlags(&cli.BoolFlag{Name: "dry-run", Usage: "ask the center, change nothing"})},
	}}
}

// Names is admin.Names, and knows the ids of "tokens" that can still be used, too.
func Names(ctx context.Context, kubeconfig, kind string) (ids []string) {
	if kind != "tokens" {
		return admin.Names(ctx, kubeconfig, kind)
	}
	ctx, cancel := context.WithTimeout(ctx, admin.NamesTime)
	defer cancel()
	root, _, err := admin.RootConfig(kubeconfig)
	if err != nil {
		return nil
	}
	tokens, err := sessions.ListTokens(ctx, root)
	if err != nil {
		return nil
	}
	for _, t := range tokens {
		if !t.Spent() {
			ids = append(ids, t.ID)
		}
	}
	return ids
}
