package admin

import (
	"context"
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"skerry.dev/skerry/server/admin/credential"
	"skerry.dev/skerry/server/admin/credential/signin"
	"skerry.dev/skerry/tunnel/commandline"
)

// sharedKubeconfig writes a kubeconfig for all people of an OIDC provider. It has no secret: each of
// them logs in. Their rights are given by skerry space grant.
func sharedKubeconfig(ctx context.Context, o KubeconfigOptions, p signin.Provider) error {
	if err := checkAt(o.At); err != nil {
		return err
	}
	c, err := open(o.Kubeconfig)
	if err != nil {
		return err
	}
	if err := mayReplace(o.File, contextAt(o.Space, o.At)); err != nil {
		return err
	}
	if err := c.mustExist(ctx, o.Space); err != nil {
		return err
	}
	if err := c.mustHaveSite(ctx, o.At); err != nil {
		return err
	}
	config, err := c.forUser(o.Space, o.At, o.Namespace, "oidc", credential.Portable(p.Args()...))
	if err != nil {
		return err
	}
	if o.ByHost {
		if err := c.byHost(ctx, o, config); err != nil {
			return err
		}
	}
	if o.File != "" && o.File != "-" {
		if err := replaceFile(o.File, config); err != nil {
			return err
		}
		_, err = fmt.Fprintf(o.Out, "%s has no secret; give it to the team. They run:\n"+
			"  skerry space use %s --kubeconfig %[3]s && skerry login\n"+
			"Give rights to a user or a group of the provider:\n  skerry space grant %[2]s --user U (or --group G)\n",
			o.File, o.Space, commandline.Word(o.File))
		return err
	}
	data, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("encode kubeconfig: %w", err)
	}
	_, err = o.Out.Write(data)
	return err
}

// byHost has a kubeconfig lead to the space by the space's own host.
func (c *center) byHost(ctx context.Context, o KubeconfigOptions, config *clientcmdapi.Config) error {
	host, err := c.hostURL(ctx, o.Space)
	if err != nil {
		return err
	}
	cluster := config.Clusters[contextAt(o.Space, o.At)]
	cluster.Server, cluster.TLSServerName = urlAt(host, o.At), ""
	return nil
}
