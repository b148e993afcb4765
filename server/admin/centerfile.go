package admin

import (
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// CenterFileExtension names the extension of a kubeconfig that a center writes, and writes anew: what
// others add to it may be lost, and is not theirs alone to read. It holds the path of the file, so that
// a copy elsewhere counts as its owner's.
const CenterFileExtension = "skerry.dev/center-file"

type centerFile struct {
	Path string `json:"path"`
}

// CenterFile is the extension for a file at an absolute path.
func CenterFile(path string) (runtime.Object, error) { return extension(centerFile{path}) }

// isCenterFile reports whether a kubeconfig is one that a center writes. A file that does not exist,
// or cannot be read, is none.
func isCenterFile(path string) bool {
	config, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return false
	}
	var says centerFile
	if !readExtension(config.Extensions, CenterFileExtension, &says) {
		return false
	}
	here, err := os.Stat(path)
	there, missing := os.Stat(says.Path)
	return err == nil && missing == nil && os.SameFile(here, there)
}

// contextExtension names the extension of a context that `skerry space use` wrote.
const contextExtension = "skerry.dev/context"

// contextOf says which space of which center a context is.
type contextOf struct {
	Center string `json:"center"`
	Space  string `json:"space"`
}

func extension(v any) (runtime.Object, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode an extension of a kubeconfig: %w", err)
	}
	return &runtime.Unknown{Raw: data, ContentType: runtime.ContentTypeJSON}, nil
}

// readExtension reports whether there is such an extension.
func readExtension(all map[string]runtime.Object, name string, into any) bool {
	unknown, ok := all[name].(*runtime.Unknown)
	return ok && json.Unmarshal(unknown.Raw, into) == nil
}

// ourContext returns what the current context of a kubeconfig is, if `skerry space use` wrote it.
func ourContext(config *clientcmdapi.Config) (contextOf, bool) {
	var says contextOf
	current := config.Contexts[config.CurrentContext]
	return says, current != nil && readExtension(current.Extensions, contextExtension, &says)
}
