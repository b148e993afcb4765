package signin

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/coreos/go-oidc"
	"github.com/urfave/cli/v2"
)

// IssuerFlag is the flag whose presence asks for an OIDC provider.
const IssuerFlag = "issuer"

const (
	clientFlag = "client-id"
	secretFlag = "client-secret-file"
	caFlag     = "issuer-ca-data"
	caFileFlag = "issuer-ca"
	scopeFlag  = "scope"
)

// Flags are those that say which provider is meant.
func Flags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: IssuerFlag, Usage: "URL of the OIDC provider, as its tokens name it"},
		&cli.StringFlag{Name: clientFlag, Usage: "what skerry is called at the provider; it is the audience of the tokens"},
		&cli.StringFlag{Name: secretFlag, Usage: "file with the client's secret, where the provider wants one"},
		&cli.StringFlag{Name: caFileFlag, Usage: "file with the authorities of the provider, in PEM; default: the system's"},
		&cli.StringFlag{Name: caFlag, Usage: "the same in base64, as kubeconfigs have it"},
		&cli.StringSliceFlag{Name: scopeFlag, Usage: "scopes to ask for, beside openid",
			Value: cli.NewStringSlice(defaultScopes()...)},
	}
}

// defaultScopes have most providers give a refresh token, and say who it is.
func defaultScopes() []string { return []string{oidc.ScopeOfflineAccess, "email", "groups"} }

// Provider is a client of an OIDC provider.
type Provider struct {
	Issuer, ClientID string
	// SecretFile has the client's secret; empty for a public client.
	SecretFile string
	// CA holds the authorities of the provider in PEM; empty means the system's.
	CA string
	// Scopes are asked for beside openid.
	Scopes []string
}

// FromFlags returns the provider that the flags of a command say. usage makes the error of a wrong
// command line.
func FromFlags(c *cli.Context, usage func(format string, args ...any) error) (Provider, error) {
	p := Provider{Issuer: c.String(IssuerFlag), ClientID: c.String(clientFlag), SecretFile: c.String(secretFlag),
		Scopes: c.StringSlice(scopeFlag)}
	if u, err := url.Parse(p.Issuer); err != nil || u.Scheme != "https" || u.Host == "" {
		return p, usage("--%s %q: write the https:// URL of the provider", IssuerFlag, p.Issuer)
	}
	if p.ClientID == "" {
		return p, usage("--%s is missing: what skerry is called at %s", clientFlag, p.Issuer)
	}
	switch encoded, file := c.String(caFlag), c.String(caFileFlag); {
	case encoded != "" && file != "":
		return p, usage("--%s and --%s: give one of them", caFlag, caFileFlag)
	case encoded != "":
		ca, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil {
			return p, usage("--%s: %s", caFlag, err)
		}
		p.CA = string(ca)
	case file != "":
		ca, err := os.ReadFile(file)
		if err != nil {
			return p, fmt.Errorf("read --%s: %w", caFileFlag, err)
		}
		p.CA = string(ca)
	}
	return p, nil
}

// Args are the flags that say the same, for the user entry of a kubeconfig. No secret is in them.
func (p Provider) Args() []string {
	args := []string{"--" + IssuerFlag + "=" + p.Issuer, "--" + clientFlag + "=" + p.ClientID}
	if p.SecretFile != "" {
		args = append(args, "--"+secretFlag+"="+p.SecretFile)
	}
	if p.CA != "" {
		args = append(args, "--"+caFlag+"="+base64.StdEncoding.EncodeToString([]byte(p.CA)))
	}
	if !slices.Equal(p.Scopes, defaultScopes()) {
		args = append(args, "--"+scopeFlag+"="+strings.Join(p.Scopes, ","))
	}
	return args
}

// FromArgs returns the provider that Args say.
func FromArgs(args []string) (p Provider, ok bool) {
	p.Scopes = defaultScopes()
	for _, a := range args {
		if a == "" || a[0] != '-' {
			continue // the center of the context
		}
		name, value, _ := strings.Cut(strings.TrimPrefix(a, "--"), "=")
		switch name {
		case IssuerFlag:
			p.Issuer = value
		case clientFlag:
			p.ClientID = value
		case secretFlag:
			p.SecretFile = value
		case caFlag:
			ca, err := base64.StdEncoding.DecodeString(value)
			if err != nil {
				return p, false
			}
			p.CA = string(ca)
		case scopeFlag:
			p.Scopes = strings.Split(value, ",")
		default:
			return p, false
		}
	}
	return p, p.Issuer != "" && p.ClientID != ""
}

// login is the command that logs in at the provider. What else it needs of the provider it finds in the
// kubeconfig.
func (p Provider) login() string {
	return "skerry login --" + IssuerFlag + "=" + p.Issuer + " --" + clientFlag + "=" + p.ClientID
}
