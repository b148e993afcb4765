package admin

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"skerry.dev/skerry/server/admin/credential"
	"skerry.dev/skerry/server/api/v1alpha1"
)

// contextName is the name of a context, and of its cluster and user.
func contextName(center, space, at string) string { return center + "/" + contextAt(space, at) }

// switched is the center by another context that the caller has for the space, or for all of the
// center: its credentials may be others than those of the current context.
func (c *center) switched(o UseOptions) (*center, error) {
	if o.Kubeconfig != "" {
		return c, nil
	}
	names := []string{contextName(c.name(o), o.Space, o.At), contextName(c.name(o), o.Space, "")}
	if bound, _, err := boundTo(c.currentUser()); err == nil && bound != "" && bound != o.Space {
		names = append(names, contextName(c.name(o), v1alpha1.RootSpace, ""))
	}
	for _, name := range names {
		if c.file.Contexts[name] != nil && c.file.CurrentContext != name {
			file := c.file.DeepCopy()
			file.CurrentContext = name
			return openConfig(file, c.path)
		}
	}
	return c, nil
}

// currentUser is the user entry of the current context, an empty one where there is none.
func (c *center) currentUser() *clientcmdapi.AuthInfo { return currentUser(c.file) }

func currentUser(file *clientcmdapi.Config) *clientcmdapi.AuthInfo {
	if current := file.Contexts[file.CurrentContext]; current != nil {
		if user := file.AuthInfos[current.AuthInfo]; user != nil {
			return user
		}
	}
	return clientcmdapi.NewAuthInfo()
}

// mayUse returns an error for a space that is not there, or that the caller's credentials are not for.
func (c *center) mayUse(ctx context.Context, o UseOptions) error {
	bound, user, err := boundTo(c.currentUser())
	switch {
	case err != nil:
		return err
	case bound == "":
		if _, ok := provider(c.currentUser()); ok {
			return nil // a person who may not be logged in yet; the space says what they may
		}
		if err := c.mustExist(ctx, o.Space); err != nil {
			return err
		}
	case bound != o.Space:
		return fmt.Errorf("the credentials of context %q in %s count in space %s alone; ask for others: "+
			"skerry space kubeconfig %s --user %s -o FILE, then: skerry space use %[4]s --kubeconfig FILE",
			c.file.CurrentContext, c.path, bound, o.Space, orElse(user, "U"))
	}
	config := rest.CopyConfig(c.config)
	config.Host = c.spaceAddress(o.Space, bound)
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	err = client.RESTClient().Get().AbsPath("/api").Do(ctx).Error()
	if err != nil && (bound != "" || apierrors.IsUnauthorized(err)) { // who may not list kinds may use the space
		return fmt.Errorf("use space %s: %w", o.Space, err)
	}
	return nil
}

// spaceAddress is the address of a space for the caller's own use: by the space's own host where the
// kubeconfig, whose credentials are bound to a space, has that.
func (c *center) spaceAddress(space, bound string) string {
	current := c.file.Contexts[c.file.CurrentContext]
	if bound == space && !strings.Contains(c.file.Clusters[current.Cluster].Server, "/clusters/") {
		return c.url.String()
	}
	return c.spaceURL(space)
}

// name is what the caller calls the center.
func (c *center) name(o UseOptions) string {
	if o.Center != "" {
		return o.Center
	}
	if says, ours := ourContext(c.file); ours {
		return says.Center
	}
	return nameOf(c.publicURL(v1alpha1.RootSpace))
}

// nameOf is a center's name by its address: the host, and the port where that is not the usual one.
func nameOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "center"
	}
	name := strings.Trim(strings.ReplaceAll(u.Hostname(), ":", "-"), "-.")
	if p := u.Port(); p != "" && p != "443" && p != "7443" {
		name += ":" + p
	}
	return name
}

// forCaller returns a kubeconfig with one context for the caller's own use. It saves the credentials.
func (c *center) forCaller(o UseOptions) (*clientcmdapi.Config, error) {
	current := c.file.Contexts[c.file.CurrentContext]
	if current == nil || c.file.Clusters[current.Cluster] == nil || c.file.AuthInfos[current.AuthInfo] == nil {
		return nil, fmt.Errorf("kubeconfig %s has no current context, or it names a cluster or user that is not there",
			c.path)
	}
	store, err := credential.OwnStore()
	if err != nil {
		return nil, err
	}
	center := c.name(o)
	bound, _, err := boundTo(c.currentUser())
	if err != nil {
		return nil, err
	}
	user, err := callersUser(store, center, c.currentUser())
	if err != nil {
		return nil, err
	}
	cluster := c.file.Clusters[current.Cluster].DeepCopy()
	local := saysLocal(cluster)
	cluster.LocationOfOrigin, cluster.Extensions = "", nil
	if local {
		if err := LocalAddress(cluster); err != nil {
			return nil, err
		}
	}
	cluster.Server = urlAt(c.spaceAddress(o.Space, bound), o.At)
	if err := keepAuthorities(store, center, cluster); err != nil {
		return nil, err
	}
	says, err := extension(contextOf{Center: center, Space: o.Space})
	if err != nil {
		return nil, err
	}
	name, out := contextName(center, o.Space, o.At), clientcmdapi.NewConfig()
	out.Clusters[name] = cluster
	out.AuthInfos[name] = user
	out.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: c.namespaceFor(o, current),
		Extensions: map[string]runtime.Object{contextExtension: says}}
	out.CurrentContext = name
	return out, nil
}

// namespaceFor is the namespace of a context that was handed out for this space.
func (c *center) namespaceFor(o UseOptions, current *clientcmdapi.Context) string {
	if o.Kubeconfig != "" {
		return current.Namespace
	}
	return ""
}

// keepAuthorities has the cluster name the file of the store, which is replaced when the center's
// authorities are.
func keepAuthorities(store credential.Store, center string, cluster *clientcmdapi.Cluster) error {
	pem := cluster.CertificateAuthorityData
	file := store.Authorities(center)
	if len(pem) == 0 && cluster.CertificateAuthority != "" && cluster.CertificateAuthority != file {
		var err error
		if pem, err = os.ReadFile(cluster.CertificateAuthority); err != nil {
			return fmt.Errorf("read the center's authorities: %w", err)
		}
	}
	if len(pem) == 0 {
		return nil
	}
	cluster.CertificateAuthority, cluster.CertificateAuthorityData = file, nil
	return store.SaveAuthorities(center, pem)
}
