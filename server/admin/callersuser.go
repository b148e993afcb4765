package admin

import (
	"fmt"
	"os"
	"strings"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"skerry.dev/skerry/server/admin/credential"
	"skerry.dev/skerry/server/admin/credential/signin"
	"skerry.dev/skerry/server/api/v1alpha1"
)

// callersUser returns the user entry for the caller's own kubeconfig, and saves the credentials of the
// one that the caller has. What fetches its credentials by another program stays as it is.
func callersUser(store credential.Store, center string, have *clientcmdapi.AuthInfo) (*clientcmdapi.AuthInfo, error) {
	have = have.DeepCopy()
	have.LocationOfOrigin, have.Extensions = "", nil
	token, err := tokenOf(have)
	if err != nil {
		return nil, err
	}
	switch {
	case token != "":
		t, err := credential.ParseToken(token)
		if err != nil {
			return have, nil // another program's; it is not ours to renew
		}
		n := credential.Name{Center: center, Space: t.Space}
		return credential.Plugin(n.String()), store.Save(n, credential.Credential{Token: token})
	case len(have.ClientCertificateData) > 0 || have.ClientCertificate != "":
		cert, err := fromFile(string(have.ClientCertificateData), have.ClientCertificate)
		if err != nil {
			return nil, err
		}
		key, err := fromFile(string(have.ClientKeyData), have.ClientKey)
		if err != nil {
			return nil, err
		}
		n := credential.Name{Center: center, Space: v1alpha1.RootSpace}
		return credential.Plugin(n.String()), store.Save(n, credential.Credential{Certificate: cert, Key: key})
	}
	args, ours := credential.PluginArgs(have)
	if !ours {
		return have, nil
	}
	if n, err := credential.ParseName(args[0]); err == nil && n.Center != center {
		c, err := store.Load(n)
		if err != nil {
			return nil, err
		}
		n.Center = center
		return credential.Plugin(n.String()), store.Save(n, c)
	}
	if p, ok := signin.FromArgs(args); ok { // the center's name is for its authorities
		return credential.Plugin(append(p.Args(), center)...), nil
	}
	return credential.Plugin(args...), nil
}

// boundTo returns the only space in which a user's credentials count. It is empty where they may count
// in others.
func boundTo(user *clientcmdapi.AuthInfo) (space, name string, err error) {
	token, err := tokenOf(user)
	if err != nil {
		return "", "", err
	}
	if t, err := credential.ParseToken(token); err == nil {
		return t.Space, t.User, nil
	}
	if args, ours := credential.PluginArgs(user); ours {
		if n, err := credential.ParseName(args[0]); err == nil && n.Space != v1alpha1.RootSpace {
			return n.Space, "", nil
		}
	}
	return "", "", nil
}

func tokenOf(user *clientcmdapi.AuthInfo) (string, error) {
	token, err := fromFile(user.Token, user.TokenFile)
	return strings.TrimSpace(token), err
}

// fromFile returns what a kubeconfig has, or what the file holds that it names.
func fromFile(have, file string) (string, error) {
	if have != "" || file == "" {
		return have, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read the credentials: %w", err)
	}
	return string(data), nil
}
