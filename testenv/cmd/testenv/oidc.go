package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/testenv/oidc"
)

// oidcCommand is an OpenID Connect provider for scenarios, and a forger of its tokens.
func oidcCommand() *cli.Command {
	dir := &cli.StringFlag{Name: "dir", Required: true, Usage: "`DIRECTORY` of the provider"}
	client := &cli.StringFlag{Name: "client", Value: "skerry", Usage: "`ID` of the only client"}
	return &cli.Command{
		Name:   "oidc",
		Usage:  "an OpenID Connect provider that logs in everybody",
		Hidden: true,
		Flags: []cli.Flag{dir, client,
			&cli.StringFlag{Name: "listen", Required: true, Usage: "`HOST:PORT`"},
			&cli.DurationFlag{Name: "life", Value: time.Hour, Usage: "of ID tokens"}},
		Action: func(c *cli.Context) error {
			return oidc.Run(c.Context, oidc.Config{Listen: c.String("listen"), Dir: c.String("dir"),
				Client: c.String("client"), Life: c.Duration("life")})
		},
	}
}

func oidcTokenCommand() *cli.Command {
	return &cli.Command{
		Name:   "oidc-token",
		Usage:  "print a token as the provider, or somebody else, would sign it",
		Hidden: true,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "dir", Required: true, Usage: "`DIRECTORY` of the provider"},
			&cli.StringFlag{Name: "issuer", Required: true, Usage: "`URL` that the token names"},
			&cli.StringFlag{Name: "audience", Value: "skerry", Usage: "`ID` that the token is for"},
			&cli.StringFlag{Name: "claims", Value: "{}", Usage: "other claims, as `JSON`"},
			&cli.StringFlag{Name: "by", Value: "provider", Usage: "provider, stranger or nobody"},
		},
		Action: func(c *cli.Context) error {
			var claims oidc.Claims
			if err := json.Unmarshal([]byte(c.String("claims")), &claims); err != nil {
				return err
			}
			token, err := oidc.Mint(c.String("dir"), c.String("issuer"), c.String("audience"), claims, c.String("by"))
			if err == nil {
				fmt.Println(token)
			}
			return err
		},
	}
}
