#!/usr/bin/env bash
# Runs one of the functions with which upstream tests kubectl (test/cmd). Upstream's own script starts etcd, an API server and controllers
# first; this one takes what is there:
#
#   UPSTREAM  a directory with Kubernetes' sources
#   PROGRAMS  a directory with kubectl and kubectl-convert
#   SERVER    port and path of the API on 127.0.0.1: 7443/clusters/shop
#   TOKEN     what its admin shows
#   FUNCTION  the function: run_pod_tests
#
# It works on a copy of upstream's scripts and files, because they write beside themselves.
set -o errexit -o nounset -o pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for d in hack/lib hack/testdata test/cmd test/fixtures test/e2e/testing-manifests third_party/forked/shell2junit; do
  mkdir -p "$work/root/$d"
  cp -r "$UPSTREAM/$d/." "$work/root/$d"
done
chmod -R u+w "$work/root"
# A Go module does not say which of its files are programs.
find "$work/root/test/fixtures/pkg/kubectl/plugins" -type f -name 'kubectl-*' -exec chmod +x {} +
mkdir -p "$work/root/_output/bin" "$work/tmp" "$work/home"
ln -s "$PROGRAMS/kubectl" "$PROGRAMS/kubectl-convert" "$work/root/_output/bin/"
sed -i -e "s#admin-token#$TOKEN#g" -e "s#/tmp/record_command_canary#$work/tmp/canary#" "$work"/root/test/cmd/*.sh
cd "$work/root"
# What upstream's API server leaves in this directory: some certificate authority, which kubectl config is to write into a file.
cp hack/testdata/ca/ca.crt "$work/tmp/apiserver.crt"

export KUBE_ROOT=$work/root TMPDIR=$work/tmp KUBE_JUNIT_REPORT_DIR=$work/tmp TERM=xterm
export SECURE_API_PORT=$SERVER
source hack/lib/init.sh
source hack/lib/test.sh
source test/cmd/legacy-script.sh

# Upstream's asks by `echo | grep -q`, which fails under pipefail where grep ends before echo has written.
kube::util::ensure-gnu-sed() { SED=sed; }

kube::util::ensure-temp-dir
kube::util::ensure-gnu-sed
kube::util::trap_add stop-proxy EXIT
kube::util::trap_add 'rm -rf "$work"' EXIT
export HOME=$work/home
CONTEXT=test
kubectl config set-credentials test-admin --token "$TOKEN"
kubectl config set-cluster local --insecure-skip-tls-verify --server "https://127.0.0.1:$SERVER"
kubectl config set-context "$CONTEXT" --user test-admin --cluster local
kubectl config use-context "$CONTEXT"

# A space has the namespaces default and kube-system. One function looks for the other one that kube-apiserver makes.
kubectl create namespace kube-public

# Upstream's functions leave out what the API server does not have when it is not named here; a space has no nodes, and serves no
# certificate signing requests.
SUPPORTED_RESOURCES=(clusterroles configmaps cronjobs deployments namespaces persistentvolumeclaims persistentvolumes pods podtemplates
  replicasets replicationcontrollers rc roles secrets selfsubjectreviews serviceaccounts services statefulsets storageclass
  subjectaccessreviews customresourcedefinitions daemonsets controllerrevisions jobs)
export SUPPORTED_RESOURCES

# runTests defines what the functions need and then runs WHAT through record_command. The server says its own build's version, which
# --match-server-version would refuse.
record_command() {
  create_and_use_new_namespace # some functions take that of the one before
  "$FUNCTION"
}
export WHAT=chosen ALLOW_SKEW=1
runTests
