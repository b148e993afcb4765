package main

import (
	"runtime/debug"
	"testing"
)

func TestMaterials(t *testing.T) {
	b := materials(&debug.BuildInfo{
		GoVersion: "go1.26.1", Main: debug.Module{Path: "skerry.dev/skerry"},
		Deps: []*debug.Module{
			{Path: "a.b/c", Version: "v1.2.3", Sum: "h1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="},
			{Path: "old", Version: "v1.0.0", Replace: &debug.Module{Path: "new", Version: "v2.0.0"}},
		},
	})
	if len(b.Components) != 3 || b.Components[0].PURL != "pkg:golang/std@1.26.1" {
		t.Fatalf("components: %+v", b.Components)
	}
	c := b.Components[1]
	if c.PURL != "pkg:golang/a.b/c@v1.2.3" || len(c.Hashes) != 1 ||
		c.Hashes[0].Content != "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f" {
		t.Errorf("a module is %+v", c)
	}
	if got := b.Components[2].Name; got != "new" {
		t.Errorf("a replaced module is named %q", got)
	}
}
