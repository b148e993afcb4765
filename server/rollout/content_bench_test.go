package rollout

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"testing"

	"skerry.dev/skerry/store"
)

// BenchmarkPack measures the stored form of a release of 100 Deployments that differ in name, image and what
// is random in each: its UID, which is in its body, too, and its digest.
func BenchmarkPack(b *testing.B) {
	content := Content{}
	for i := range 100 {
		name, random := fmt.Sprint("web-", i), sha256.Sum256([]byte{byte(i)})
		uid := fmt.Sprintf("%x-%x-%x-%x-%x", random[:4], random[4:6], random[6:8], random[8:10], random[10:16])
		body, err := json.Marshal(map[string]any{"apiVersion": "apps/v1", "kind": "Deployment",
			"metadata": map[string]any{"name": name, "namespace": "shop", "labels": map[string]any{"app": name},
				"annotations": map[string]any{"skerry.dev/origin-uid": uid}},
			"spec": map[string]any{"replicas": 3, "selector": map[string]any{"matchLabels": map[string]any{"app": name}},
				"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": name}},
					"spec": map[string]any{"containers": []any{map[string]any{"name": "web",
						"image": fmt.Sprintf("registry.example.com/shop/%s:1.%d", name, i),
						"ports": []any{map[string]any{"containerPort": 8080}}}}}}}})
		if err != nil {
			b.Fatal(err)
		}
		content.Objects = append(content.Objects, Object{Key: store.Key{Space: "shop", Group: "apps", Resource: "deployments",
			Namespace: "shop", Name: name}, UID: uid, Digest: binary.BigEndian.Uint64(random[16:]), Body: body})
	}
	var packed []byte
	var err error
	for b.Loop() {
		if packed, err = content.Pack(); err != nil {
			b.Fatal(err)
		}
	}
	stored := base64.StdEncoding.EncodedLen(len(packed)) // as the object of the record has it
	b.ReportMetric(float64(stored)/float64(len(content.Objects)), "B/object")
}
