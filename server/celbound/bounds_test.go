package celbound

import (
	"strings"
	"testing"
)

const list = "[1,2,3,4,5,6,7,8,9,10]"

// TestBombs: what would take the memory or the time of the process for almost no cost. None is
// evaluated here.
func TestBombs(t *testing.T) {
	for _, text := range []string{
		"object.x.replace('a', object.x) != ''",
		"string(object.x).replace('', string(object.x)).size() > 0",
		"object.x.replace(object.y, 'b', 100000) == object.y.replace('a', object.x, object.n)",
		"object.x.replace('a', '" + strings.Repeat("b", 40) + "').size() > 0",
		"object.x.replace('', '" + strings.Repeat("b", 33) + "').size() > 0",
		"object.x.replace(object.y, '" + strings.Repeat("b", 33) + "').size() > 0",
		"object.x.replace('a', 'bbbbbbb').replace('b', 'ccccccc').size() > 0",
		"has(object.x) && object.x.replace('a', object.x) != ''",
		"object.list.all(s, s.replace('a', s) != '')",
		"object.list.map(s, s.replace('a', s)).size() > 0",
		"(object.x != '' ? object.x.replace('a', object.y) : '') == ''",
		"{'a': object.x.replace('a', object.x)}.a == ''",
		"[object.x.replace('a', object.x)][0] == ''",
		"lists.range(10000000000).size() > 0",
		"lists.range(object.n).size() > 0",
		"lists.range(int(object.n) * 1000000).size() > 0",
		"lists.range(10001).all(i, i > 0)",
		"object.list.all(i, lists.range(i).size() > 0)",
		"object.list.join(object.x) != ''",
		list + ".map(i, object.x).join() != ''",
		list + ".map(i, object.x).join(',') != ''",
		list + ".map(i, [object.x]).flatten().size() > 0",
		"lists.range(10000).map(i, object.list).flatten().size() > 0",
		"object.list.map(i, object.list.map(j, i)).flatten().size() > 0",
		"object.list.join('" + strings.Repeat("-", 40) + "') != ''",
		"'%.999999f'.format([1.0]) != ''",
		"object.pattern.format([1.0]) != ''",
		"('%.' + '999999f').format([1.0]) != ''",
		"'%s" + strings.Repeat("%s", 40) + "'.format([object.x" + strings.Repeat(", object.x", 40) + "]) != ''",
		list + ".map(i, '%s'.format([object.x])).size() > 0",
		"'%s%s%s%s%s%s'.format(['%s%s%s%s%s%s'.format([object.x,object.x,object.x,object.x,object.x,object.x])" +
			",'%s%s%s%s%s%s'.format([object.x,object.x,object.x,object.x,object.x,object.x])" +
			",'%s%s%s%s%s%s'.format([object.x,object.x,object.x,object.x,object.x,object.x])" +
			",'%s%s%s%s%s%s'.format([object.x,object.x,object.x,object.x,object.x,object.x])" +
			",'%s%s%s%s%s%s'.format([object.x,object.x,object.x,object.x,object.x,object.x])" +
			",'%s%s%s%s%s%s'.format([object.x,object.x,object.x,object.x,object.x,object.x])]) != ''",
		"[object.x]" + strings.Repeat(".map(s, '%s%s'.format([s,s]))", 6) + "[0] != ''",
		"optional.of(object.x).optMap(s, '%s%s%s%s%s%s%s%s'.format([s,s,s,s,s,s,s,s]))" +
			".optMap(s, '%s%s%s%s%s%s%s%s'.format([s,s,s,s,s,s,s,s])).orValue('') != ''",
		"(object.list.map(i, object.x) + []).join() != ''", "[object.list.map(i, object.x)][0].join() != ''",
		"(true ? object.list.map(i, object.x) : []).join() != ''", "dyn(object.list.map(i, object.x)).join() != ''",
		"{'a': object.list.map(i, object.x)}.a.join() != ''", "object.list.map(i, object.b + object.b).flatten() == []",
		"'%s'.format([object.list.map(i, object.b + object.b)]) == ''",
		"object.list.map(i, object.x).map(i, i).join() != ''", "object.list.map(i, object.x).filter(i, true).join() != ''",
		"quantity('1e99999999').isGreaterThan(quantity('1'))", "quantity(object.metadata.annotations['a']).isInteger()",
		"quantity(object.x).sign() > 0", "quantity(object.limits.cpu + 'e9999999').sign() > 0", "isQuantity(object.x)",
		"quantity('1' + 'e99999999').sign() > 0", "quantity('1e' + object.n).sign() > 0", "quantity(dyn(object.x)).sign() > 0",
		"quantity(object.limits.all(k, quantity(k).sign() > 0) ? '1' : object.x).sign() > 0",
		"quantity('1x'.replace('x', 'e99999999')).sign() > 0", "quantity(['1', 'e99999999'].join()).sign() > 0",
		"quantity('%se%s'.format(['1', '99999999'])).sign() > 0", "['1e99999999'].all(x, quantity(x).sign() > 0)",
		"quantity(true ? '1' : '1e99999999').sign() > 0", "quantity({'a': '1e99999999'}.a).sign() > 0",
		"quantity({'cpu': '1' + 'e99999999'}.cpu).sign() > 0", "[{'cpu': '1e99999999'}].all(c, quantity(c.cpu).sign() > 0)",
		"quantity([{'cpu': '1' + 'e9999999'}][0].cpu).sign() > 0", "quantity({'limits': {'a': object.x}}['limits']['a']).sign() > 0",
		"object.list.map(i, {'cpu': i}).all(c, quantity(c.cpu).sign() > 0)", "quantity(variables.cpu).sign() > 0",
		"quantity(dyn({'cpu': object.x}).cpu).sign() > 0", "quantity((true ? {'cpu': object.x} : object).cpu).sign() > 0",
		"quantity(optional.of({'cpu': object.x}).value().cpu).sign() > 0",
		"quantity('1e99999999x'.substring(0, 10)).sign() > 0",
		"object.list.distinct().size() > 0",
		"object.a.map(x, x).distinct().size() > 0",
		"sets.contains(object.a, object.b)",
		"sets.intersects(object.a, object.a)",
		"sets.equivalent(object.a, object.list.map(x, x))",
		"sets.contains(object.a, [" + strings.TrimSuffix(strings.Repeat("1,", 65), ",") + "])",
		"object.map.transformList(k, v, v.replace('a', v)).size() > 0",
		"object.map.all(k, v, '%s'.format([object]) != '')",
	} {
		if err := new(Bounds).Check(text); err == nil {
			t.Errorf("%.120s is allowed", text)
		} else if len(err.Error()) > 250 {
			t.Errorf("%.120s: %d bytes: %v", text, len(err.Error()), err)
		}
	}
}

// A bomb that is spread over the variables of a policy is one, too.
func TestVariablesThatGrow(t *testing.T) {
	var b Bounds
	for i, v := range []string{"a", "b", "c", "d", "e", "f"} {
		of := "object.x"
		if i > 0 {
			of = "variables." + string(rune('a'+i-1))
		}
		if err := b.Variable(v, "'%s%s'.format(["+of+","+of+"])"); (err != nil) != (i == 5) {
			t.Errorf("%s: %v", v, err)
		}
	}
	if err := b.Check("'%s%s'.format([variables.e, variables.e]) == ''"); err == nil {
		t.Error("64 times the object is allowed")
	}
	if err := b.Check(list + ".map(i, variables.a).join() == ''"); err == nil {
		t.Error("a variable that is repeated is allowed")
	}
}

// What people write goes through.
func TestWhatPeopleWrite(t *testing.T) {
	var b Bounds
	for _, text := range []string{
		"object.spec.replicas <= 5",
		"object.spec.template.spec.containers.all(c, c.image.startsWith('registry.example.com/'))",
		"object.spec.template.spec.containers.all(c, has(c.resources) && has(c.resources.limits))",
		"object.metadata.name.matches('^[a-z]+$') && !(object.metadata.name in ['a', 'b'])",
		"object.spec.names.map(n, n.lowerAscii()).join(', ')",
		"object.spec.containers.map(c, c.name + ' in ' + object.metadata.name).join(', ')",
		"object.spec.containers.filter(c, c.image == object.metadata.annotations['image']).size() == 0",
		"'%s may have %d replicas'.format([object.metadata.name, params.most])",
		"'%.2f of %s'.format([double(object.spec.n), object.kind])",
		"object.metadata.name.replace('-', '_') == 'a_b'",
		"object.metadata.annotations.map(k, k + object.metadata.annotations[k]).join(',') != ''",
		"object.spec.path.replace('/', variables.sep, 1) != ''",
		"sets.contains(['a', 'b'], object.spec.names)",
		"object.spec.text.contains('a') && object.spec.list.size() < 10",
		"lists.range(10).all(i, i < 10)",
		"['a', 'b', 'a'].distinct().size() == 2",
		"object.metadata.?labels['a'].orValue('') == 'b'",
		"object.?spec.?a.optMap(v, v + 'x').orValue('') != 'x'",
		"quantity(object.spec.cpu).isLessThan(quantity('1'))",
		"object.spec.containers.all(c, quantity(c.resources.limits['example.com/gpu']).isLessThan(quantity('2')))",
		"object.spec.containers.all(c, c.resources.limits.all(k, quantity(c.resources.limits[k]).sign() > 0))",
		"isQuantity(object.spec.size) && quantity(object.spec.size).isLessThan(quantity('1Ti'))",
		"quantity(object.spec.?resources.?limits.?memory.orValue('1Gi')).isLessThan(quantity('2Gi'))",
		"object.spec.list.all(i, i in oldObject.spec.list)",
		"[[1], [2]].flatten().size() == 2",
		"self.items.map(i, i.parts).flatten().size() < 10",
		"this is no CEL",
	} {
		if err := b.Check(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// What upstream estimates well of a definition, by the bounds of its schema, is left to upstream.
func TestOfADefinition(t *testing.T) {
	b := Bounds{Estimated: true}
	for text, refused := range map[string]bool{
		"sets.contains(self.a, self.b)": false, "self.a.distinct().size() == 2": false,
		"lists.range(self.n).size() == 3": false, "self.a.replace('a', self.a) == ''": true,
		"'%s'.format(self.a.map(i, self.b)) == ''": true,
	} {
		if err := b.Check(text); (err != nil) != refused {
			t.Errorf("%s: %v", text, err)
		}
	}
}
