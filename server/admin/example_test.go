package admin_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"skerry.dev/skerry/server/admin"
	"skerry.dev/skerry/tunnel/commandline"
)

// A dry run has the center check and complete a Space, and creates nothing.
func ExampleSpaceCommand_dryRun() {
	run(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.URL.Path, "dryRun="+r.URL.Query().Get("dryRun"))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.Copy(w, r.Body)
	}, "skerry space create shop --dry-run -o yaml")
	// Output:
	// POST /apis/skerry.dev/v1alpha1/spaces dryRun=All
	// apiVersion: skerry.dev/v1alpha1
	// kind: Space
	// metadata:
	//   name: shop
	// spec:
	//   defaultTargets:
	//     count: 1
}

// `skerry status` shows the sites of a center, one a line.
func ExampleStatusCommand() {
	run(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"apiVersion":"skerry.dev/v1alpha1","kind":"SyncTargetList","metadata":{},"items":[
			{"apiVersion":"skerry.dev/v1alpha1","kind":"SyncTarget","metadata":{"name":"lisbon"}}]}`)
	}, "skerry status -o name")
	// Output:
	// synctarget.skerry.dev/lisbon
}

// run executes a command line against a center whose API is answered by serve.
func run(serve http.HandlerFunc, line string) {
	center := httptest.NewServer(serve)
	defer center.Close()
	dir, err := os.MkdirTemp("", "skerry-example-")
	if err != nil {
		log.Panic(err)
	}
	defer os.RemoveAll(dir)
	kubeconfig := filepath.Join(dir, "kubeconfig")
	file := clientcmdapi.NewConfig()
	file.Clusters["center"] = &clientcmdapi.Cluster{Server: center.URL}
	file.Contexts["root"] = &clientcmdapi.Context{Cluster: "center"}
	file.CurrentContext = "root"
	if err := clientcmd.WriteToFile(*file, kubeconfig); err != nil {
		log.Panic(err)
	}
	app := &cli.App{Name: "skerry", Writer: os.Stdout,
		Commands: []*cli.Command{admin.SpaceCommand(), admin.StatusCommand()}}
	words := append(strings.Fields(line), "--kubeconfig", kubeconfig)
	if err := app.RunContext(context.Background(), commandline.FlagsFirst(app, words)); err != nil {
		fmt.Println(err)
	}
}
