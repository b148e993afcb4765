package cluster

import (
	"encoding/json"
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"skerry.dev/skerry/testenv/kube"
)

func TestLoopbackAddressesAreDistinct(t *testing.T) {
	loopback := netip.MustParsePrefix("127.0.0.0/8")
	seen := map[netip.Addr]int{}
	for i := range maxSimulated {
		a := loopbackAddress(i)
		if !loopback.Contains(a) || a.As4()[3] == 0 || a.As4()[3] == 255 {
			t.Fatalf("cluster %d: %s", i, a)
		}
		if other, ok := seen[a]; ok {
			t.Fatalf("clusters %d and %d both have %s", other, i, a)
		}
		seen[a] = i
	}
}

func TestFirstFree(t *testing.T) {
	clusters := []*Cluster{{Address: loopbackAddress(0).String()}, {Address: loopbackAddress(2).String()},
		{Address: "10.202.0.2"}}
	notOne := func(a netip.Addr) bool { return a != loopbackAddress(1) }
	got, err := firstFree(clusters, notOne)
	if err != nil || got != loopbackAddress(3) {
		t.Errorf("got %s, %v; 0 and 2 are taken and 1 is not usable", got, err)
	}
	if _, err := firstFree(nil, func(netip.Addr) bool { return false }); err == nil {
		t.Error("nothing usable: want an error")
	}
}

func TestClaimKeepsOthersAway(t *testing.T) {
	address := loopbackAddress(maxSimulated - 1)
	first := claim(address)
	if first == nil {
		t.Fatal("a free address was not given")
	}
	if claim(address) != nil {
		t.Error("an address was given twice")
	}
	first.Close()
	again := claim(address)
	if again == nil {
		t.Fatal("an address that was given back was not given again")
	}
	defer again.Close()
	other := netip.AddrFrom4([4]byte{127, 77, 251, 1})
	l, err := net.Listen("tcp", netip.AddrPortFrom(other, apiPort).String())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if claim(other) != nil {
		t.Error("an address was given at which somebody listens")
	}
}

func testState(t *testing.T) State {
	t.Setenv(StateVariable, t.TempDir())
	s, err := OpenState()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestUnknownClusterSaysWhatExists(t *testing.T) {
	s := testState(t)
	_, err := s.Get("gamma")
	if err == nil || !strings.Contains(err.Error(), "there is none") {
		t.Errorf("without clusters: %v", err)
	}
	for _, name := range []string{"alpha", "beta"} {
		if err := os.Mkdir(s.clusterDir(name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var unknown *UnknownError
	if _, err := s.Get("gamma"); !errors.As(err, &unknown) || !slices.Equal(unknown.Existing, []string{"alpha", "beta"}) {
		t.Errorf("got %v", err)
	}
}

func TestSaveAndLoad(t *testing.T) {
	s := testState(t)
	c := &Cluster{Name: "alpha", Kind: Simulated, Address: "127.77.0.1", Nodes: 3, dir: s.clusterDir("alpha")}
	if err := errors.Join(os.Mkdir(c.dir, 0o700), c.save()); err != nil {
		t.Fatal(err)
	}
	got, err := s.Get("alpha")
	if err != nil || *got != *c {
		t.Errorf("got %+v, %v", got, err)
	}
	if status, err := got.Status(); status != Broken || err != nil {
		t.Errorf("nothing runs and nobody starts it: status %s, %v", status, err)
	}
}

func TestUniqueNamesDifferByStateDirectory(t *testing.T) {
	one := Cluster{Name: "a", dir: "/one/clusters/a"}
	two := Cluster{Name: "a", dir: "/two/clusters/a"}
	if one.unique() == two.unique() {
		t.Errorf("both are %s", one.unique())
	}
}

func TestCredentialsAndServerConfig(t *testing.T) {
	for _, kind := range []Kind{Simulated, Real} {
		c := &Cluster{Name: "alpha", Kind: kind, Address: "127.77.0.1", Persist: true, dir: t.TempDir()}
		admin, err := c.writeCredentials()
		if err != nil {
			t.Fatal(err)
		}
		read, err := kube.ReadKubeconfig(c.Kubeconfig())
		if err != nil || read.Server != "https://127.77.0.1:6443" || read.Token != admin.Token {
			t.Errorf("kubeconfig has %+v, %v", read, err)
		}
		if info, err := os.Stat(c.Kubeconfig()); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("kubeconfig's mode is %v, %v", info.Mode(), err)
		}
		if err := c.writeServerConfig(); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(c.dir, "server.json"))
		if err != nil {
			t.Fatal(err)
		}
		var config serverConfig
		if err := json.Unmarshal(data, &config); err != nil {
			t.Fatal(err)
		}
		if (config.Kwok != nil) != (kind == Simulated) {
			t.Errorf("%s: kwok is %v", kind, config.Kwok)
		}
		if !strings.HasPrefix(config.Store, "sqlite://") {
			t.Errorf("a persistent cluster's store is %s", config.Store)
		}
	}
}

func TestNames(t *testing.T) {
	for name, valid := range map[string]bool{"a": true, "real-1": true, "": false, "1a": false, "A": false,
		"a/b": false, "..": false, strings.Repeat("a", 31): false} {
		if err := checkName(name); (err == nil) != valid {
			t.Errorf("%q: %v", name, err)
		}
	}
}
