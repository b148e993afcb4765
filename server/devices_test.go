package server_test

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// devices: a space has the kinds by which workloads ask for devices, and what a site has allocated, also
// another one after a move. What nodes have is the site's.
func devices(t *testing.T, c *center) {
	ctx := t.Context()
	user, own := clients(t, c.admin("team")), clients(t, c.api.Loopback("team"))
	asks := resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{
		{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu.example.com"}}}}}
	_, err := user.ResourceV1().DeviceClasses().Create(ctx, &resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu.example.com"}}, metav1.CreateOptions{})
	must(t, err)
	_, err = user.ResourceV1().ResourceClaimTemplates("default").Create(ctx, &resourcev1.ResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: "one-gpu"},
		Spec:       resourcev1.ResourceClaimTemplateSpec{Spec: asks}}, metav1.CreateOptions{})
	must(t, err)
	claims := user.ResourceV1().ResourceClaims("default")
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: "shared"}, Spec: asks}
	_, err = claims.Create(ctx, claim, metav1.CreateOptions{})
	must(t, err)
	for _, device := range []string{"gpu-0", "gpu-7"} { // it moves
		status, err := json.Marshal(map[string]any{"status": resourcev1.ResourceClaimStatus{
			Allocation: &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
				Results: []resourcev1.DeviceRequestAllocationResult{
					{Request: "gpu", Driver: "gpu.example.com", Pool: "node-1", Device: device}}}},
			ReservedFor: []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "web", UID: "1"}}}})
		must(t, err)
		_, err = own.ResourceV1().ResourceClaims("default").Patch(ctx, "shared", types.MergePatchType, status,
			metav1.PatchOptions{}, "status")
		must(t, err)
		got, err := claims.Get(ctx, "shared", metav1.GetOptions{})
		must(t, err)
		if a := got.Status.Allocation; a == nil || a.Devices.Results[0].Device != device {
			t.Errorf("the claim shows %+v", got.Status)
		}
	}
	_, err = user.CoreV1().Namespaces().Patch(ctx, "default", types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"`+resourcev1.DRAAdminNamespaceLabelKey+`":"true"}}}`), metav1.PatchOptions{})
	must(t, err)
	all := true
	claim = claim.DeepCopy()
	claim.Name, claim.Spec.Devices.Requests[0].Exactly.AdminAccess = "all", &all
	if _, err = claims.Create(ctx, claim, metav1.CreateOptions{}); err == nil ||
		!strings.Contains(err.Error(), "a space gives no admin access to devices") {
		t.Errorf("admin access: %v", err)
	}
	_, err = user.CoreV1().Pods("default").Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "claims"},
		Spec: corev1.PodSpec{
			ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &claim.Name}},
			Containers: []corev1.Container{{Name: "app", Image: "app",
				Resources: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpu"}}}}},
		}}, metav1.CreateOptions{})
	must(t, err)
}
