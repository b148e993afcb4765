package placement

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/volumes"
)

// leastEvery is the least time between two rounds.
const leastEvery = 10 * time.Second

// ReadReplication reads what a Namespace says of its standby (v1alpha1.AnnotationReplication). Nothing is nil, too.
func ReadReplication(text string) (*v1alpha1.VolumeReplication, error) {
	if text == "" {
		return nil, nil
	}
	r := &v1alpha1.VolumeReplication{}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	switch err := d.Decode(r); {
	case err != nil:
		return nil, fmt.Errorf("it cannot be read: %s", strings.TrimPrefix(err.Error(), "json: "))
	case r.Target == "":
		return nil, errors.New("it names no target")
	case r.Every != nil && r.Every.Duration < leastEvery:
		return nil, fmt.Errorf("every is %s, and at least %s", r.Every.Duration, leastEvery)
	case r.MaxAge != nil && r.MaxAge.Duration < volumes.Every(r):
		return nil, fmt.Errorf("maxAge is %s, and at least every, %s", r.MaxAge.Duration, volumes.Every(r))
	case r.Consistency != "" && r.Consistency != v1alpha1.VolumesFuzzy:
		return nil, fmt.Errorf("consistency is %.40q, and %s is the only one", r.Consistency, v1alpha1.VolumesFuzzy)
	}
	return r, nil
}

// misplacedReplication says why what an object says of a standby means nothing, empty where it means something.
func misplacedReplication(on bool, notes map[string]any) string {
	const name = v1alpha1.AnnotationReplication
	text, is := notes[name].(string)
	if !is {
		return ""
	}
	if !on {
		return fmt.Sprintf("annotation %s means nothing here: write it on the Namespace, or "+
			"spec.move.volumeReplication in the Placement that decides", name)
	}
	if _, err := ReadReplication(text); err != nil {
		return fmt.Sprintf(`annotation %s means nothing: %v; write {"target":"SITE","every":"15m","consistency":"Fuzzy"}`,
			name, err)
	}
	if notes[v1alpha1.AnnotationVolumes] != string(v1alpha1.VolumesReplicate) {
		return fmt.Sprintf("annotation %s means nothing without the annotation %s=%s", name, v1alpha1.AnnotationVolumes,
			v1alpha1.VolumesReplicate)
	}
	return ""
}
