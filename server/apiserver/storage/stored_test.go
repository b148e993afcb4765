package storage

import (
	"bytes"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"skerry.dev/skerry/server/fields"
)

// TestStoredAPIServiceIsRead: a kind that is stored and cannot be decoded would end the center, and
// whoever may write it in a space could do so.
func TestStoredAPIServiceIsRead(t *testing.T) {
	s := runtime.NewScheme()
	if err := apiregistrationv1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	var stored bytes.Buffer
	service := &apiregistrationv1.APIService{TypeMeta: metav1.TypeMeta{APIVersion: "apiregistration.k8s.io/v1",
		Kind: "APIService"},
		ObjectMeta: metav1.ObjectMeta{Name: "v1.example.com"}}
	if err := protobuf.NewSerializer(s, s).Encode(service, &stored); err != nil {
		t.Fatal(err)
	}
	obj, err := storedMap(stored.Bytes())
	if err != nil || fields.String(obj, "kind") != "APIService" ||
		fields.String(obj, "metadata", "name") != "v1.example.com" {
		t.Errorf("read as %v, %v", obj, err)
	}
}
