package policy

import (
	"fmt"
	"strings"
	"testing"

	"skerry.dev/skerry/tunnel"
)

// TestWhatASiteDoesNotGive: objects by which a tenant would get more at a site than its admin gave.
func TestWhatASiteDoesNotGive(t *testing.T) {
	p, err := Compile(tunnel.Allow{Controllers: []string{"shop"}, ClusterControllers: []string{"shop"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	own := facts{[]string{"app"}, []string{"shop-reader"}}
	tries := 0
	refused := func(namespace, resource, name, body string) {
		t.Helper()
		tries++
		if p.Rights("shop", namespace, resource, name, []byte(body), own) == nil {
			t.Errorf("%s %s is allowed: %s", resource, name, body)
		}
	}
	rules := func(groups, resources, verbs string) string {
		return fmt.Sprintf(`{"rules":[{"apiGroups":["x.io"],"resources":["good"],"verbs":["get"]},{"apiGroups":[%s],"resources":[%s],"verbs":[%s]}]}`,
			groups, resources, verbs)
	}
	for _, body := range []string{
		rules(`"*"`, `"a"`, `"get"`), rules(`""`, `"*"`, `"get"`), rules(`""`, `"a"`, `"*"`),
		rules(`"*.io"`, `"a"`, `"get"`), rules(`""`, `"pods/*"`, `"get"`),
		rules(`""`, `"*/status"`, `"get"`), rules(`"",  "*"`, `"pods"`, `"get"`), rules(`""`, `"pods"`, `"get","*"`),
		rules(`"x.io"`, `"a"`, `"escalate"`), rules(`"x.io"`, `"a"`, `"get","bind"`),
		rules(`""`, `"groups"`, `"impersonate"`), rules(`""`, `"serviceaccounts"`, `"impersonate"`),
		rules(`"authentication.k8s.io"`, `"userextras/scopes"`, `"get"`),
		rules(`"authentication.k8s.io"`, `"tokenreviews"`, `"create"`),
		rules(`"rbac.authorization.k8s.io"`, `"roles"`, `"get"`),
		rules(`"rbac.authorization.k8s.io"`, `"clusterrolebindings"`, `"create"`),
		rules(`"certificates.k8s.io"`, `"certificatesigningrequests/approval"`, `"update"`),
		rules(`"certificates.k8s.io"`, `"signers"`, `"approve"`),
		rules(`""`, `"serviceaccounts/token"`, `"create"`), rules(`"x.io",""`, `"a","serviceaccounts/token"`, `"get"`),
		rules(`""`, `"endpoints"`, `"create"`), rules(`""`, `"endpoints"`, `"update"`), rules(`""`, `"endpoints"`, `"patch"`),
		rules(`"discovery.k8s.io"`, `"endpointslices"`, `"update"`), rules(`""`, `"pods/status"`, `"update"`),
		rules(`""`, `"services/status"`, `"patch"`),
		rules(`""`, `"services"`, `"create"`), rules(`""`, `"services"`, `"get","patch"`),
		rules(`""`, `"persistentvolumeclaims"`, `"create"`),
		rules(`"apps"`, `"statefulsets"`, `"update"`), rules(`"","apps"`, `"pods","statefulsets"`, `"update"`),
		`{"rules":[{"nonResourceURLs":["*"],"verbs":["get"]}]}`, `{"rules":[{"nonResourceURLs":["/healthz"],"verbs":["get"]}]}`,
		`{"aggregationRule":{}}`, `{"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"a":"b"}}]}}`,
		`{"metadata":{"labels":{"rbac.authorization.k8s.io/aggregate-to-admin":"true"}}}`, `{"metadata":{"labels":{"rbac.authorization.k8s.io/aggregate-to-view":""}}}`,
		`{"metadata":{"labels":{"rbac.example.com/aggregate-to-monitoring":"true"}}}`, `{"metadata":{"labels":{"rbac.example.com/aggregate-to-admin":"true"}}}`,
		`[]`, `"x"`, `{"rules":{}}`, `{"rules":[[]]}`, `{"rules":[{"verbs":"*"}]}`, ``, `{"rules":[{"apiGroups":["x"],"resources":["a"],"verbs":["*"]}]`,
	} {
		refused("", "clusterroles", "shop-x", body)
		refused("app", "roles", "x", body)
	}
	bind := func(kind, name, subjects string) string {
		return fmt.Sprintf(`{"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":%q,"name":%q},"subjects":[%s]}`, kind, name, subjects)
	}
	op := `{"kind":"ServiceAccount","name":"op","namespace":"app"}`
	for _, body := range []string{
		bind("ClusterRole", "cluster-admin", op), bind("ClusterRole", "admin", op),
		bind("ClusterRole", "system:node", op), bind("ClusterRole", "skerry-agent", op),
		bind("ClusterRole", "shop-reader-2", op), bind("ClusterRole", "", op), bind("", "cluster-admin", op),
		bind("clusterrole", "cluster-admin", op),
		bind("CLUSTERROLE", "cluster-admin", op), bind("Role ", "x", op), bind("User", "x", op),
		bind("Role", "x", `{"kind":"User","name":"admin"}`),
		bind("Role", "x", `{"kind":"User","name":"system:serviceaccount:app:op"}`),
		bind("Role", "x", `{"kind":"Group","name":"system:masters"}`),
		bind("Role", "x", `{"kind":"Group","name":"system:serviceaccounts:app"}`),
		bind("Role", "x", `{"kind":"Group","name":"system:serviceaccounts"}`),
		bind("Role", "x", `{"kind":"Group","name":"system:unauthenticated"}`),
		bind("Role", "x", `{"kind":"ServiceAccount","name":"op","namespace":"kube-system"}`),
		bind("Role", "x", `{"kind":"ServiceAccount","name":"op"}`),
		bind("Role", "x", `{"kind":"ServiceAccount","name":"op","namespace":"app-2"}`),
		bind("Role", "x", `{"kind":"ServiceAccount","name":"op","namespace":"skerry-spaces"}`),
		bind("Role", "x", `{"kind":"","name":"op","namespace":"app"}`),
		bind("Role", "x", `{"kind":"serviceaccount","name":"op","namespace":"app"}`),
		bind("Role", "x", op+`,{"kind":"ServiceAccount","name":"op","namespace":"default"}`),
		bind("Role", "x", op+`,{"kind":"User","name":"a"}`),
		bind("Role", "x", `{"kind":"ServiceAccount","name":"op","namespace":"app","namespace":"kube-system"}`),
		`{"roleRef":"cluster-admin"}`, `{"subjects":{}}`, `null x`,
	} {
		refused("app", "rolebindings", "x", body)
		refused("", "clusterrolebindings", "shop-x", body)
	}
	good := rules(`""`, `"configmaps"`, `"get"`)
	for _, name := range []string{"skerry-space", "skerry-", "system:", "system:node", "skerry-space-controllers"} {
		refused("app", "roles", name, good)
		refused("", "clusterroles", name, good)
	}
	for _, kind := range [][2]string{
		{"", "endpoints"}, {"discovery.k8s.io", "endpointslices"}, {"", "nodes"}, {"", "persistentvolumes"},
		{"", "resourcequotas"}, {"", "bindings"}, {"", "events"},
		{"storage.k8s.io", "storageclasses"}, {"storage.k8s.io", "csidrivers"},
		{"apiregistration.k8s.io", "apiservices"}, {"scheduling.k8s.io", "priorityclasses"},
		{"admissionregistration.k8s.io", "mutatingwebhookconfigurations"},
		{"admissionregistration.k8s.io", "validatingwebhookconfigurations"},
		{"admissionregistration.k8s.io", "validatingadmissionpolicies"},
		{"certificates.k8s.io", "certificatesigningrequests"},
		{"node.k8s.io", "runtimeclasses"}, {"flowcontrol.apiserver.k8s.io", "flowschemas"},
		{"coordination.k8s.io", "leases"}, {"resource.k8s.io", "deviceclasses"},
		{"skerry.dev", "spaces"}, {"skerry.dev", "synctargets"}, {"skerry.dev", "placements"},
		{"authentication.k8s.io", "tokenreviews"}, {"", "Secrets"}, {"", "secrets/status"},
	} {
		if tries++; p.Kind(kind[0], kind[1], false) == nil {
			t.Errorf("%v travels", kind)
		}
	}
	for _, label := range []string{"openshift.io/run-level", "admission.gatekeeper.sh/ignore",
		"openshift.io/cluster-monitoring", "network.openshift.io/policy-group", "field.cattle.io/projectId",
		"pod-security.kubernetes.io/enforce-version", "resource.kubernetes.io/admin-access"} {
		if tries++; p.Labels("shop", map[string]string{label: "0"})[label] != "" {
			t.Errorf("a Namespace gets the label %s", label)
		}
	}
	for _, note := range []string{"openshift.io/sa.scc.uid-range", "openshift.io/sa.scc.mcs", "openshift.io/node-selector",
		"field.cattle.io/projectId", "scheduler.alpha.kubernetes.io/node-selector",
		"scheduler.alpha.kubernetes.io/defaultTolerations", "scheduler.alpha.kubernetes.io/tolerationsWhitelist"} {
		if tries++; p.Annotations(map[string]string{note: "0"})[note] != "" {
			t.Errorf("a Namespace gets the annotation %s", note)
		}
	}
	nobody := func(string) bool { return false }
	for kind, bodies := range map[string][]string{
		"services": {`{"spec":{"externalIPs":["10.0.0.1"],"externalIPſ":[]}}`, `{"spec":{"externalIPs":["10.0.0.1"],"externalips":[]}}`,
			`{"spec":{"loadBalancerClass":"x","loadBalancerClaſs":""}}`, `{"spec":{"externalIPs":["10.0.0.1"],"EXTERNALIPS":null}}`,
			`{"spec":{"externalIPs":["10.0.0.1"]},"SPEC":{"externalIPs":null}}`, `{"spec":{"externalIPs":["10.0.0.1"]}}`, `{"spec":{"loadBalancerClass":"x"}}`,
			`{"spec":{"loadBalancerIP":"10.0.0.1"}}`, `{"spec":{"loadBalancerIP":"10.0.0.1","loadbalancerip":""}}`},
		"persistentvolumeclaims": {`{"spec":{"volumeName":"pv"}}`, `{"spec":{"volumeName":"pv","volumename":""}}`,
			`{"spec":{"selector":{},"ſelector":null}}`, `{"spec":{"resources":{"requests":{"storage":"1e99999999"}}}}`},
		"statefulsets.apps": {`{"spec":{"volumeClaimTemplates":[{"spec":{}},{"spec":{"volumeName":"pv"}}]}}`},
		"secrets":           {`{"type":"kubernetes.io/service-account-token"}`, `{"type":"kubernetes.io/service-account-token","Type":"Opaque"}`},
		"pods": {`{"spec":{"serviceAccountName":"theirs"}}`, `{"spec":{"serviceAccount":"theirs"}}`,
			`{"spec":{"serviceAccountName":"default","serviceAccount":"theirs"}}`,
			`{"spec":{"hostNetwork":true,"hoſtNetwork":false}}`, `{"spec":{"hostPID":true,"hostpid":false}}`,
			`{"spec":{"serviceAccountName":"theirs","serviceaccountname":"default"}}`,
			`{"spec":{"volumes":[{"name":"a","hostPath":{"path":"/"},"hostpath":null}]}}`,
			`{"spec":{"containers":[{"name":"a","securityContext":{"privileged":true},"SecurityContext":null}]}}`,
			`{"spec":{"hostNetwork":true},"Spec":{"hostNetwork":false}}`,
			`{"spec":{"priorityClassName":"system-node-critical"}}`, `{"spec":{"priorityClassName":"system-cluster-critical"}}`,
			`{"spec":{"containers":[{"name":"a","resources":{"limits":{"cpu":"1e99999999"}}}]}}`,
			`{"spec":{"containers":[{"name":"a","resources":{"limits":{"cpu":"123456789012345678901234e99999999"}}}]}}`,
			`{"spec":{"volumes":[{"name":"a","emptyDir":{"sizeLimit":1e2147483647}}]}}`,
			`{"spec":{"hostNetwork":true}}`, `{"spec":{"hostPID":true}}`, `{"spec":{"volumes":[{"name":"a","hostPath":{"path":"/"}}]}}`,
			`{"spec":{"containers":[{"name":"a","securityContext":{"privileged":true}}]}}`, `{"spec":{"initContainers":[{"name":"a","securityContext":{"privileged":true}}]}}`,
			`{"spec":{"ephemeralContainers":[{"name":"a","securityContext":{"privileged":true}}]}}`, `{"spec":{"containers":[{"name":"a","ports":[{"hostPort":80}]}]}}`,
			`{"spec":{"volumes":[{"name":"a","projected":{"sources":[{"serviceAccountToken":{"path":"a"}}]}}]}}`,
			`{"spec":{"volumes":[{"name":"a","projected":{"sources":[{"podCertificate":{
				"signerName":"kubernetes.io/kube-apiserver-client-pod","keyType":"ED25519"}}]}}]}}`,
			`{"spec":{"volumes":[{"name":"a","awsElasticBlockStore":{"volumeID":"vol-1"}}]}}`,
			`{"spec":{"volumes":[{"name":"a","gcePersistentDisk":{"pdName":"theirs"}}]}}`,
			`{"spec":{"volumes":[{"name":"a","azureDisk":{"diskName":"a","diskURI":"b"}}]}}`,
			`{"spec":{"volumes":[{"name":"b","emptyDir":{}},{"name":"a","cinder":{"volumeID":"theirs"}}]}}`,
			`{"spec":{"volumes":[{"name":"a","vsphereVolume":{"volumePath":"[ds] theirs.vmdk"}}]}}`,
			`{"spec":{"volumes":[{"name":"a","portworxVolume":{"volumeID":"theirs"}}]}}`,
			`{"spec":{"volumes":[{"name":"a","nfs":{"server":"nas","path":"/"}}]}}`,
			`{"spec":{"volumes":[{"name":"a","iscsi":{"targetPortal":"a","iqn":"b","lun":0}}]}}`,
			`{"spec":{"volumes":[{"name":"a","fc":{"wwids":["a"]}}]}}`,
			`{"spec":{"volumes":[{"name":"a","rbd":{"monitors":["a"],"image":"theirs","keyring":"/etc/ceph/keyring"}}]}}`,
			`{"spec":{"volumes":[{"name":"a","cephfs":{"monitors":["a"],"secretFile":"/etc/shadow"}}]}}`,
			`{"spec":{"volumes":[{"name":"a","flexVolume":{"driver":"a/b"}}]}}`,
			`{"spec":{"volumes":[{"name":"a","gitRepo":{"repository":"r","directory":"../.."}}]}}`},
	} {
		for _, body := range bodies {
			if tries++; p.Object("shop", "app", kind, []byte(body), nobody) == nil {
				t.Errorf("%s is allowed: %s", kind, body)
			}
			if kind != "pods" {
				continue
			}
			for at, wrap := range map[string]string{
				"deployments.apps": `{"spec":{"template":%s}}`, "daemonsets.apps": `{"spec":{"template":%s}}`,
				"jobs.batch":     `{"spec":{"template":%s}}`,
				"cronjobs.batch": `{"spec":{"jobTemplate":{"spec":{"template":%s}}}}`,
				"podtemplates":   `{"template":%s}`, "replicationcontrollers": `{"spec":{"template":%s}}`,
			} {
				if tries++; p.Object("shop", "app", at, []byte(strings.ReplaceAll(wrap, "%s", body)), nobody) == nil {
					t.Errorf("%s is allowed: %s", at, body)
				}
			}
		}
	}
	t.Logf("%d tries", tries)
}

// TestLabelsThatGiveDevices: a space's Namespace gets no label by which Kubernetes lets claims of it
// have the devices of others.
func TestLabelsThatGiveDevices(t *testing.T) {
	for _, level := range []string{"baseline", "privileged"} {
		p, err := Compile(tunnel.Allow{PodSecurity: []string{level}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := p.Labels("shop", map[string]string{
			"resource.kubernetes.io/admin-access": "true", "resource.k8s.io/admin-access": "true", "team": "a",
		})
		if len(got) != 2 || got["team"] != "a" {
			t.Errorf("%s: %v", level, got)
		}
	}
}
