package admin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/homedir"
)

// readKubeconfig reads the kubeconfig that the user means, and says where it is: path, else
// $KUBECONFIG, which may list several files, else the user's own file if its current context is of
// `skerry space use`, else DefaultKubeconfig, else the user's own file whatever it holds.
func readKubeconfig(path string) (config *clientcmdapi.Config, where string, err error) {
	if path != "" {
		config, err = clientcmd.LoadFromFile(path)
		return config, path, wrapRead(path, err)
	}
	if list := os.Getenv(clientcmd.RecommendedConfigPathEnvVar); list != "" {
		rules := clientcmd.ClientConfigLoadingRules{Precedence: filepath.SplitList(list), WarnIfAllMissing: false}
		config, err = rules.Load()
		there := func(file string) bool { _, err := os.Stat(file); return err == nil }
		if err == nil && clientcmdapi.IsConfigEmpty(config) && !slices.ContainsFunc(filepath.SplitList(list), there) {
			err = fs.ErrNotExist
		}
		return config, list, wrapRead(list, err)
	}
	own, err := clientcmd.LoadFromFile(homeFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", wrapRead(homeFile(), err)
	}
	if own != nil {
		if _, ours := ourContext(own); ours {
			return own, homeFile(), nil
		}
	}
	if _, err := os.Stat(DefaultKubeconfig); err == nil {
		config, err = clientcmd.LoadFromFile(DefaultKubeconfig)
		return config, DefaultKubeconfig, wrapRead(DefaultKubeconfig, err)
	}
	if own != nil {
		return own, homeFile(), nil
	}
	return nil, "", ErrNoKubeconfig
}

// homeFile is the kubeconfig that everybody has for themselves.
func homeFile() string {
	return filepath.Join(homedir.HomeDir(), clientcmd.RecommendedHomeDir, clientcmd.RecommendedFileName)
}

func wrapRead(path string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("read kubeconfig %s: %w; its owner may read it (sudo), or name another with --kubeconfig FILE "+
			"or KUBECONFIG", path, err)
	}
	return fmt.Errorf("read kubeconfig %s: %w; name another with --kubeconfig FILE or KUBECONFIG", path, err)
}

// unusable says what a kubeconfig lacks that was read from a path and of which client-go makes no client.
func unusable(file *clientcmdapi.Config, path string, err error) error {
	switch {
	case clientcmdapi.IsConfigEmpty(file):
		return fmt.Errorf("kubeconfig %s is empty; name another with --kubeconfig FILE or KUBECONFIG", path)
	case file.CurrentContext == "":
		return fmt.Errorf("kubeconfig %s has no current context; choose one with: kubectl config use-context NAME", path)
	case file.Contexts[file.CurrentContext] == nil:
		return fmt.Errorf("kubeconfig %s has no context %q, which is to be its current one; choose another with: "+
			"kubectl config use-context NAME", path, file.CurrentContext)
	}
	return fmt.Errorf("use kubeconfig %s: %w", path, err)
}
