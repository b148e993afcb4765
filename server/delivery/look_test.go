package delivery

import (
	"testing"

	"skerry.dev/skerry/server/catalog"
)

// TestALookMakesNothingOfItsObjects: a group is looked at after each write of one of its objects, so
// what a look makes of each object is made thousands of times a second.
func TestALookMakesNothingOfItsObjects(t *testing.T) {
	const objects = 1000
	d := quiet10k(t)
	for i := range objects {
		d.Apply(deploymentWrite(i))
	}
	r := catalog.Ref{Kind: catalog.OfNamespace, Key: nsKey("app")}
	var p *plan
	made := testing.AllocsPerRun(5, func() { p = d.look(r) })
	if p == nil || p.look == nil || len(p.look.asked) != objects {
		t.Fatalf("the look has not all objects: %+v", p)
	}
	if made > objects/2 {
		t.Errorf("a look at %d objects allocates %v times", objects, made)
	}
	if asks := testing.AllocsPerRun(5, func() { d.ask(p.look) }); asks > objects/2 {
		t.Errorf("asking about %d objects allocates %v times", objects, asks)
	}
}
