package admin

import (
	"fmt"
	"io"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel/output"
)

// RootConfig returns a client configuration for the root space of the center that the user means
// (see ListOptions.Kubeconfig), and the center's address as its agents are to dial it.
func RootConfig(kubeconfig string) (*rest.Config, string, error) {
	c, err := open(kubeconfig)
	if err != nil {
		return nil, "", err
	}
	parent, err := url.Parse(c.publicURL(v1alpha1.RootSpace))
	if err != nil {
		return nil, "", err
	}
	return c.config, parent.Scheme + "://" + parent.Host, nil
}

// joinFormats are what -o of `skerry token create` takes.
const joinFormats = "token, json or yaml"

// JoinOutputFlag is -o of `skerry token create`.
func JoinOutputFlag() cli.Flag { return OutputFlag(joinFormats) }

// CheckJoinOutput refuses an output that PrintJoin does not know, before there is a token.
func CheckJoinOutput(output string) error {
	switch output {
	case "", "token", "json", "yaml":
		return nil
	}
	return Usage("-o %q: use %s", output, joinFormats)
}

// PrintJoin prints a new join token: alone for the output "token", as data, or with the one command that
// is run at the site.
func PrintJoin(w io.Writer, format, parent, token string, ttl time.Duration, uses int) error {
	if err := CheckJoinOutput(format); err != nil {
		return err
	}
	if format == "token" {
		_, err := fmt.Fprintln(w, token)
		return err
	}
	data := map[string]any{"token": token, "parent": parent, "expiresIn": ttl.String(), "uses": uses}
	if printed, err := output.Print(w, format, data); printed {
		return err
	}
	where, joins := "the workload cluster, once,", "joins one site and is then used up"
	if uses > 1 {
		where = fmt.Sprintf("each of up to %d workload clusters, once,", uses)
		joins = fmt.Sprintf("joins %d sites and is then used up", uses)
	}
	_, err := fmt.Fprintf(w, joinText, where, duration.HumanDuration(ttl), parent, token, joins)
	return err
}

const joinText = `Run this beside %[1]s within %[2]s:

  skerry agent --parent %[3]s --name SITE --policy baseline --kubeconfig /path/to/kubeconfig --token-file - <<END
%[4]s
END

SITE is the name that the cluster shall have here. What spaces may do on it is --policy restricted where
strangers use it, baseline where teams share it, and trusted where it is yours alone: skerry agent policy
prints all of each. The token %[5]s. It is read from standard input, so that
the list of processes does not show it; --token-file FILE reads a file, which only its owner should read.

As a service that systemd keeps running, with the token in FILE:

  sudo skerry install agent --parent %[3]s --name SITE --set policy=baseline --token-file FILE
`

// Token is what is known of a join token; the secret itself is not kept anywhere.
type Token struct {
	ID      string            `json:"id"`
	Expires time.Time         `json:"expires"`
	Labels  map[string]string `json:"labels,omitempty"`
	Uses    int               `json:"uses"`
	UsedBy  []string          `json:"usedBy,omitempty"`
}

// PrintTokens prints a table of tokens, or what a program reads of them; a name is a token's id.
func PrintTokens(w io.Writer, output string, tokens []Token) error {
	table, wide := isTable(output)
	if !table {
		return printData(w, output, tokens, func() (ids []string) {
			for _, k := range tokens {
				ids = append(ids, k.ID)
			}
			return ids
		})
	}
	t := tabwriter.NewWriter(w, 0, 8, 3, ' ', 0)
	fmt.Fprint(t, "ID\tSTATE\tUSES\tUSED-BY\tEXPIRES")
	if wide {
		fmt.Fprint(t, "\tLABELS")
	}
	fmt.Fprintln(t)
	for _, k := range tokens {
		state, expires := "unused", "in "+duration.HumanDuration(time.Until(k.Expires))
		switch {
		case len(k.UsedBy) >= k.Uses:
			state, expires = "used", "-"
		case time.Now().After(k.Expires):
			state, expires = "expired", duration.HumanDuration(time.Since(k.Expires))+" ago"
		}
		fmt.Fprintf(t, "%s\t%s\t%d/%d\t%s\t%s", k.ID, state, len(k.UsedBy), k.Uses, k.users(wide), expires)
		if wide {
			fmt.Fprintf(t, "\t%s", orElse(labels.FormatLabels(k.Labels), "-"))
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}

// users names the sites that have joined, or says how many more there are than a table has room for.
func (k Token) users(all bool) string {
	const shown = 3
	if n := len(k.UsedBy); n > shown && !all {
		return fmt.Sprintf("%s and %d more", strings.Join(k.UsedBy[:shown], ","), n-shown)
	}
	return orElse(strings.Join(k.UsedBy, ","), "-")
}
