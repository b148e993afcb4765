package admin

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// at makes HOME and KUBECONFIG of a person: files are below the home, joined as a list.
func at(t *testing.T, files ...string) (home string) {
	t.Helper()
	home = t.TempDir()
	t.Setenv("HOME", home)
	var list []string
	for _, f := range files {
		list = append(list, filepath.Join(home, f))
	}
	t.Setenv("KUBECONFIG", strings.Join(list, string(os.PathListSeparator)))
	return home
}

// oneContext is a kubeconfig with one context of this name.
func oneContext(name, server string) *clientcmdapi.Config {
	c := clientcmdapi.NewConfig()
	c.Clusters[name] = &clientcmdapi.Cluster{Server: server}
	c.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: "t"}
	c.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	c.CurrentContext = name
	return c
}

func write(t *testing.T, path string, c *clientcmdapi.Config) {
	t.Helper()
	if err := clientcmd.WriteToFile(*c, path); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) *clientcmdapi.Config {
	t.Helper()
	c, err := clientcmd.LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The file that kubectl would write is written: the first that exists, else the last; without
// KUBECONFIG that of the home; never a center's.
func TestWhereContextsGo(t *testing.T) {
	for _, c := range []struct {
		what           string
		list, existing []string
		center         string
		want           string
	}{
		{what: "no variable", want: ".kube/config"},
		{what: "one that is missing", list: []string{"a"}, want: "a"},
		{what: "several, none there", list: []string{"a", "b"}, want: "b"},
		{what: "several, the second there", list: []string{"a", "b", "c"}, existing: []string{"b"}, want: "b"},
		{what: "the center's first", list: []string{"admin", "b"}, existing: []string{"b"}, center: "admin", want: "b"},
		{what: "the center's alone", list: []string{"admin"}, center: "admin", want: ".kube/config"},
	} {
		t.Run(c.what, func(t *testing.T) {
			home := at(t, c.list...)
			for _, f := range c.existing {
				write(t, filepath.Join(home, f), oneContext("old", "https://old"))
			}
			var before []byte
			if c.center != "" {
				path := filepath.Join(home, c.center)
				says, err := CenterFile(path)
				if err != nil {
					t.Fatal(err)
				}
				admin := oneContext("root", "https://center")
				admin.Extensions = map[string]runtime.Object{CenterFileExtension: says}
				write(t, path, admin)
				before, _ = os.ReadFile(path)
			}
			own := newOwnKubeconfig()
			file, err := own.add(t.Context(), oneContext("eu/shop", "https://center"))
			want := filepath.Join(home, c.want)
			if err != nil || file != want {
				t.Fatalf("%s, %v, want %s", file, err, want)
			}
			got := read(t, want)
			if got.CurrentContext != "eu/shop" || got.Clusters["eu/shop"] == nil || got.AuthInfos["eu/shop"].Token != "t" {
				t.Errorf("it holds %+v", got)
			}
			if info, err := os.Stat(want); err != nil || len(c.existing) == 0 && info.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v", info.Mode(), err)
			}
			if left, _ := filepath.Glob(filepath.Join(home, "*.lock")); len(left) > 0 {
				t.Errorf("left %v", left)
			}
			hint := own.hint("eu/shop")
			if (hint == "") != (c.center == "") {
				t.Errorf("hint %q", hint)
			}
			if c.center != "" {
				if after, _ := os.ReadFile(filepath.Join(home, c.center)); string(after) != string(before) {
					t.Error("the center's file has changed")
				}
			}
		})
	}
}

// A copy of the center's file is its owner's own.
func TestACopyIsNoCentersFile(t *testing.T) {
	dir := t.TempDir()
	original, copied := filepath.Join(dir, "admin.kubeconfig"), filepath.Join(dir, "config")
	says, err := CenterFile(original)
	if err != nil {
		t.Fatal(err)
	}
	c := oneContext("root", "https://center")
	c.Extensions = map[string]runtime.Object{CenterFileExtension: says}
	write(t, original, c)
	write(t, copied, c)
	if !isCenterFile(original) || isCenterFile(copied) || isCenterFile(filepath.Join(dir, "none")) {
		t.Errorf("original %t, copy %t", isCenterFile(original), isCenterFile(copied))
	}
}

// What the file had stays, also what another program writes at the same time.
func TestOtherContextsStay(t *testing.T) {
	home := at(t)
	path := filepath.Join(home, ".kube", "config")
	mine := oneContext("home", "https://home")
	mine.Contexts["home"].Namespace = "den"
	mine.Contexts["home"].Extensions = map[string]runtime.Object{"x": &runtime.Unknown{Raw: []byte(`{"a":"b"}`)}}
	write(t, path, mine)
	names := []string{"a/shop", "b/shop", "c/shop", "d/shop", "e/shop", "f/shop"}
	var all sync.WaitGroup
	for _, n := range names {
		all.Go(func() {
			if _, err := newOwnKubeconfig().add(t.Context(), oneContext(n, "https://"+n)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	got := read(t, path)
	for _, n := range append(names, "home") {
		if got.Contexts[n] == nil || got.Clusters[n] == nil || got.AuthInfos[got.Contexts[n].AuthInfo] == nil {
			t.Errorf("%s is gone", n)
		}
	}
	var x map[string]string
	if c := got.Contexts["home"]; c.Namespace != "den" || !readExtension(c.Extensions, "x", &x) || x["a"] != "b" {
		t.Errorf("home is %+v", c)
	}
	if err := newOwnKubeconfig().mayName("a", "elsewhere"); err == nil || !strings.Contains(err.Error(), "--center") {
		t.Errorf("two centers of one name: %v", err)
	}
	if err := newOwnKubeconfig().mayName("new", "elsewhere"); err != nil {
		t.Error(err)
	}
	// A namespace that was chosen for a context outlives the next use.
	chosen := read(t, path)
	chosen.Contexts["a/shop"].Namespace = "web"
	write(t, path, chosen)
	if _, err := newOwnKubeconfig().add(t.Context(), oneContext("a/shop", "https://a/shop")); err != nil {
		t.Fatal(err)
	}
	if ns := read(t, path).Contexts["a/shop"].Namespace; ns != "web" {
		t.Errorf("namespace %q", ns)
	}
}

func TestNamesOfCenters(t *testing.T) {
	for address, want := range map[string]string{
		"https://center.example.com:7443": "center.example.com", "https://center.example.com": "center.example.com",
		"https://10.0.0.1:443": "10.0.0.1", "https://127.0.0.1:7543": "127.0.0.1:7543", "https://[fd00::1]:7443": "fd00--1",
	} {
		if got := nameOf(address); got != want {
			t.Errorf("%s is called %s, want %s", address, got, want)
		}
	}
}

// The address for other machines is the advertised one; nothing else is changed.
func TestAdvertised(t *testing.T) {
	if got, ok := advertised("https://10.1.1.1:7443", "center.example.com", true); !ok ||
		got != "https://center.example.com:7443" {
		t.Errorf("the one address of a center: %q", got)
	}
	for _, c := range []struct{ server, name, want string }{
		{"https://127.0.0.1:7443", "center.example.com", "https://center.example.com:7443"},
		{"https://127.0.0.1:7443/clusters/shop", "10.0.0.1", "https://10.0.0.1:7443/clusters/shop"},
		{"https://[::1]:7443", "fd00::1", "https://[fd00::1]:7443"},
		{"https://127.0.0.1:7443", "", ""},
		{"https://10.1.1.1:7443", "center.example.com", ""},
		{"https://proxy.example.com:7443", "center.example.com", ""},
	} {
		if got, ok := advertised(c.server, c.name, false); got != c.want || ok != (c.want != "") {
			t.Errorf("%s for %s: %q", c.server, c.name, got)
		}
	}
}

// kubectl and skerry mean the same file; a center's on this machine counts while nothing was chosen.
func TestWhichKubeconfigIsRead(t *testing.T) {
	home := at(t)
	if _, where, err := readKubeconfig(""); err == nil && where != DefaultKubeconfig {
		t.Errorf("without any: %s", where)
	}
	own := filepath.Join(home, ".kube", "config")
	used := oneContext("eu/shop", "https://center")
	says, err := extension(contextOf{Center: "eu", Space: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	used.Contexts["eu/shop"].Extensions = map[string]runtime.Object{contextExtension: says}
	write(t, own, used)
	if _, where, err := readKubeconfig(""); err != nil || where != own {
		t.Errorf("after space use: %s, %v", where, err)
	}
	home = at(t, "missing", "b")
	write(t, filepath.Join(home, "b"), oneContext("x", "https://x"))
	if c, _, err := readKubeconfig(""); err != nil || c.CurrentContext != "x" {
		t.Errorf("a list: %v", err)
	}
	if c, where, err := readKubeconfig(own); err != nil || where != own || c.CurrentContext != "eu/shop" {
		t.Errorf("a flag: %s, %v", where, err)
	}
	at(t, "missing")
	if _, _, err := readKubeconfig(""); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("a list of nothing: %v", err)
	}
}
