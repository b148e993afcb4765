package server

import (
	"fmt"
	"net"
	"strings"

	"github.com/urfave/cli/v2"
	"k8s.io/apimachinery/pkg/util/validation"
)

// SpacesDomainFlag names the domain below which each space has a host of its own.
const SpacesDomainFlag = "spaces-domain"

// NewSpacesDomainFlag is that flag. What cannot be meant is an error that usage makes.
func NewSpacesDomainFlag(usage func(format string, args ...any) error) cli.Flag {
	return &cli.StringFlag{
		Name:    SpacesDomainFlag,
		EnvVars: []string{"SKERRY_SPACES_DOMAIN"},
		Usage: "domain below which each space is served at a host of its own, " +
			"NAME.DOMAIN, beside its path; *.DOMAIN has to lead to the center; empty means by path alone",
		Action: func(_ *cli.Context, domain string) error {
			if wrong := validation.IsDNS1123Subdomain(domain); domain != "" && len(wrong) > 0 {
				return usage("--%s %q: write a domain in lower-case letters, such as spaces.example.com", SpacesDomainFlag,
					domain)
			}
			return nil
		},
	}
}

// certificateHosts are the names in the center's certificate: those that it is reached by, and all
// below the domain of spaces. A name of the center's own that would be taken for a space's is an
// error.
func certificateHosts(reachedBy []string, domain string) ([]string, error) {
	if domain == "" {
		return reachedBy, nil
	}
	for _, h := range reachedBy {
		if net.ParseIP(h) == nil && strings.HasSuffix(strings.ToLower(h), "."+domain) {
			return nil, fmt.Errorf(
				"--%s %s: the center itself is reached as %s, which would be a space; give a domain that no name of the "+
					"center is below, such as spaces.%[2]s",
				SpacesDomainFlag,
				domain,
				h,
			)
		}
	}
	return append(reachedBy, "*."+domain), nil
}
