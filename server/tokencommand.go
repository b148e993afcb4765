package server

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/server/admin"
	"skerry.dev/skerry/server/sessions"
)

// TokenCommand is `skerry token` with its subcommands.
func TokenCommand() *cli.Command {
	create := func(c *cli.Context) error {
		root, parent, err := admin.RootConfig(c.String("kubeconfig"))
		if err != nil {
			return err
		}
		l, err := admin.Labels(c)
		if err != nil {
			return err
		}
		token, err := sessions.CreateToken(c.Context, root, sessions.TokenOptions{Labels: l, TTL: c.Duration("ttl")})
		if err != nil {
			return err
		}
		return admin.PrintJoin(c.App.Writer, c.String("output"), parent, token, c.Duration("ttl"))
	}
	list := func(c *cli.Context) error {
		root, _, err := admin.RootConfig(c.String("kubeconfig"))
		if err != nil {
			return err
		}
		infos, err := sessions.ListTokens(c.Context, root)
		if err != nil {
			return err
		}
		tokens := make([]admin.Token, len(infos))
		for i, t := range infos {
			tokens[i] = admin.Token{ID: t.ID, Expires: t.Expires, Labels: t.Labels, UsedBy: t.UsedBy}
		}
		return admin.PrintTokens(c.App.Writer, c.String("output"), tokens)
	}
	revoke := func(c *cli.Context) error {
		root, _, err := admin.RootConfig(c.String("kubeconfig"))
		if err != nil {
			return err
		}
		id, err := admin.OneArgument(c, "token's id (skerry token list)")
		if err != nil {
			return err
		}
		if err := sessions.RevokeToken(c.Context, root, id); err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.App.Writer, "token %s revoked\n", id)
		return err
	}
	return &cli.Command{Name: "token", Usage: "make, list and revoke join tokens", Subcommands: []*cli.Command{
		{Name: "create", Usage: "make a token that joins one site, and print the command to run there", Action: create,
			Flags: admin.ClientFlags(admin.OutputFlag("token or json"),
				&cli.StringSliceFlag{Name: "labels", Usage: "k=v labels that the site will have here"},
				&cli.DurationFlag{Name: "ttl", Value: 24 * time.Hour, Usage: "how long it may be used"})},
		{
			Name:   "list",
			Usage:  "list the tokens; secrets are not kept and cannot be shown",
			Action: list,
			Flags:  admin.ClientFlags(admin.ListFlag()),
		},
		{Name: "revoke", Aliases: []string{"delete"}, Usage: "make a token useless", ArgsUsage: "ID", Action: revoke,
			Flags: admin.ClientFlags()},
	}}
}
