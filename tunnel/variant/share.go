package variant

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
)

// SharesAnnotation stands on the base of a workload whose replicas are divided: how many each target
// has, by its name.
const SharesAnnotation = "skerry.dev/shares"

// maxShares bounds the targets that a base names.
const maxShares = 10_000

// Share gives a target its share of the replicas of a base, none where the base does not name it. Of
// several names of the target, the first that the base has counts: after a rename, bases of before have
// the old one. It reports false, and returns the base as it is, where the replicas are not divided. The result does
// not tell the shares of others.
func Share(base []byte, names ...string) ([]byte, bool, error) {
	if !bytes.Contains(base, []byte(SharesAnnotation)) {
		return base, false, nil
	}
	decoded, err := decode(base)
	doc, ok := decoded.(map[string]any)
	if err != nil || !ok {
		return base, false, fmt.Errorf("decode the base: %w", cmp.Or(err, errors.New("it is no object")))
	}
	meta, _ := doc["metadata"].(map[string]any)
	notes, _ := meta["annotations"].(map[string]any)
	text, divided := notes[SharesAnnotation].(string)
	if !divided {
		return base, false, nil
	}
	var shares map[string]uint32
	if err := json.Unmarshal([]byte(text), &shares); err != nil {
		return base, false, fmt.Errorf("decode annotation %s: %w", SharesAnnotation, err)
	}
	if len(shares) > maxShares {
		return base, false, fmt.Errorf("annotation %s names %d targets, at most %d", SharesAnnotation, len(shares), maxShares)
	}
	spec, ok := doc["spec"].(map[string]any)
	if !ok {
		return base, false, fmt.Errorf("annotation %s stands on an object without spec", SharesAnnotation)
	}
	delete(notes, SharesAnnotation)
	share := uint32(0)
	for _, name := range names {
		if n, ok := shares[name]; ok {
			share = n
			break
		}
	}
	spec["replicas"] = json.Number(fmt.Sprint(share))
	return encode(doc), true, nil
}
