package v1alpha1

import (
	"reflect"
	"testing"
)

func TestReadAllocated(t *testing.T) {
	for _, c := range []struct {
		allocated string
		want      Allocated
	}{
		{"", Allocated{}},
		{
			`{"clusterIP":"10.0.0.1","nodePorts":[30500,30501],"healthCheckNodePort":30700}`,
			Allocated{ClusterIP: "10.0.0.1", NodePorts: []int64{30500, 30501}, HealthCheckNodePort: 30700},
		},
		{`{"volumeName":"pvc-1","later":{}}`, Allocated{VolumeName: "pvc-1"}},
		{`{"clusterIP":"10.0.0.1","nodePorts":"no"}`, Allocated{}},
	} {
		notes := map[string]string{AnnotationAllocated: c.allocated}
		got := ReadAllocated(notes)
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: %+v, want %+v", notes, got, c.want)
		}
		if again := ReadAllocated(map[string]any{AnnotationAllocated: got.String()}); !reflect.DeepEqual(again, got) {
			t.Errorf("%s was read as %+v", got, again)
		}
	}
	if a := ReadAllocated[any](nil); a.String() != "" || a.HasNodePort(0) {
		t.Errorf("of nothing: %+v", a)
	}
}
