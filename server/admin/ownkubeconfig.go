package admin

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// ownKubeconfig is where kubectl would write: the files of $KUBECONFIG, or ~/.kube/config. Files that a
// center writes are left out. It implements clientcmd.ConfigAccess.
type ownKubeconfig struct {
	*clientcmd.PathOptions
	files []string
	// left are the files of $KUBECONFIG that are a center's.
	left []string
}

func newOwnKubeconfig() *ownKubeconfig {
	o := &ownKubeconfig{PathOptions: clientcmd.NewDefaultPathOptions()}
	o.GlobalFile = homeFile()
	for _, f := range o.PathOptions.GetLoadingPrecedence() {
		if isCenterFile(f) {
			o.left = append(o.left, f)
		} else {
			o.files = append(o.files, f)
		}
	}
	if len(o.files) == 0 {
		o.files = []string{o.GlobalFile}
	}
	return o
}

// GetLoadingPrecedence returns a copy, because ModifyConfig sorts it.
func (o *ownKubeconfig) GetLoadingPrecedence() []string { return slices.Clone(o.files) }

// GetStartingConfig returns what the files hold together.
func (o *ownKubeconfig) GetStartingConfig() (*clientcmdapi.Config, error) {
	rules := *o.LoadingRules
	rules.Precedence = o.GetLoadingPrecedence()
	return rules.Load()
}

// GetDefaultFilename returns the first file that exists, else the last one, as kubectl does.
func (o *ownKubeconfig) GetDefaultFilename() string {
	for _, f := range o.files {
		if _, err := os.Stat(f); err == nil {
			return f
		}
	}
	return o.files[len(o.files)-1]
}

// IsExplicitFile implements clientcmd.ConfigAccess: no flag names a file.
func (*ownKubeconfig) IsExplicitFile() bool { return false }

// GetExplicitFile implements clientcmd.ConfigAccess.
func (*ownKubeconfig) GetExplicitFile() string { return "" }

// lockPatience is how long another program may hold the lock of a kubeconfig.
const lockPatience = 5 * time.Second

// ModifyConfig locks the files itself, but only after its caller has read them: what another program
// writes in between would be taken for deleted. ownKubeconfig therefore holds the same locks, and for
// longer.
func init() { clientcmd.UseModifyConfigLock = false }

// lock takes the lock files of kubectl for all files, in the order of their names.
func (o *ownKubeconfig) lock(ctx context.Context) (unlock func(), err error) {
	var held []string
	unlock = func() {
		for _, f := range held {
			os.Remove(f)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	for _, f := range slices.Sorted(slices.Values(o.files)) {
		if err := lockFile(ctx, f+".lock"); err != nil {
			unlock()
			return nil, err
		}
		held = append(held, f+".lock")
	}
	return unlock, nil
}

func lockFile(ctx context.Context, name string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return fmt.Errorf("lock kubeconfig: %w", err)
	}
	for {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL, 0)
		if err == nil {
			return f.Close()
		}
		if !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("lock kubeconfig: %w", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("another program has locked your kubeconfig for %s; if none does, remove %s", lockPatience, name)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// add merges the contexts, clusters and users of one into the files, and makes its current context
// that of the files. It changes nothing else. New files have mode 0600. It returns the file that the
// context is in.
func (o *ownKubeconfig) add(ctx context.Context, one *clientcmdapi.Config) (string, error) {
	unlock, err := o.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	merged, err := o.GetStartingConfig()
	if err != nil {
		return "", fmt.Errorf("read your kubeconfig: %w", err)
	}
	file := o.GetDefaultFilename()
	for name, cluster := range one.Clusters {
		if old := merged.Clusters[name]; old != nil {
			cluster.LocationOfOrigin = old.LocationOfOrigin
		}
		merged.Clusters[name] = cluster
	}
	for name, user := range one.AuthInfos {
		if old := merged.AuthInfos[name]; old != nil {
			user.LocationOfOrigin = old.LocationOfOrigin
		}
		merged.AuthInfos[name] = user
	}
	for name, context := range one.Contexts {
		if old := merged.Contexts[name]; old != nil {
			context.LocationOfOrigin = old.LocationOfOrigin
			if context.Namespace == "" {
				context.Namespace = old.Namespace // kubectl config set-context --namespace
			}
			file = old.LocationOfOrigin
		}
		merged.Contexts[name] = context
	}
	merged.CurrentContext = one.CurrentContext
	if err := clientcmd.ModifyConfig(o, *merged, false); err != nil {
		return "", fmt.Errorf("write your kubeconfig: %w", err)
	}
	return file, nil
}

// mayName refuses a name of a center that another one has already.
func (o *ownKubeconfig) mayName(center, host string) error {
	config, err := o.GetStartingConfig()
	if err != nil {
		return fmt.Errorf("read your kubeconfig: %w", err)
	}
	for name, cluster := range config.Clusters {
		u, err := url.Parse(cluster.Server)
		if err == nil && strings.HasPrefix(name, center+"/") && u.Host != host {
			return fmt.Errorf("cluster %q in %s is at %s, and this center at %s: give this one another name with --center, "+
				"or remove the other: kubectl config delete-cluster %[1]s", name, cluster.LocationOfOrigin, u.Host, host)
		}
	}
	return nil
}

// hint says why kubectl does not follow, empty where it does.
func (o *ownKubeconfig) hint(context string) string {
	rules := *o.LoadingRules
	rules.Precedence = o.PathOptions.GetLoadingPrecedence()
	if seen, err := rules.Load(); err == nil && seen.CurrentContext == context {
		return ""
	}
	if len(o.left) > 0 {
		return fmt.Sprintf("KUBECONFIG names %s, which is the center's own file; for kubectl to follow: export KUBECONFIG=%s",
			o.left[0], o.GetDefaultFilename())
	}
	return "another file of KUBECONFIG has a current context of its own, before " + o.GetDefaultFilename()
}
