#!/bin/sh
# Makes the chart of a release of cert-manager from its module, as make/manifests.mk of that module does.
# usage: chart.sh MODULE VERSION DIRECTORY
set -eu
module=$1 version=$2 to=$3
from=$module/deploy/charts/cert-manager
chart=$(mktemp -d)/cert-manager
mkdir -p "$chart" "$to"
cp -r --no-preserve=mode "$from/templates" "$from/values.yaml" "$chart"
sed "s:{{RELEASE_VERSION}}:$version:g" "$from/README.template.md" >"$chart/README.md"
{
	sed 's:"{{IS_PRERELEASE}}":"false":' "$from/Chart.template.yaml"
	echo '  artifacthub.io/signKey: |'
	sed 's:^:    :' "$from/signkey_annotation.txt"
} >"$chart/Chart.yaml"
{
	echo '{{- if .Values.installCRDs }}'
	separator=
	for file in "$module"/deploy/crds/*.yaml; do
		printf '%s' "$separator"
		cat "$file"
		separator='---
'
	done
	echo '{{- end }}'
} >"$chart/templates/crds.yaml"
helm package --app-version "$version" --version "$version" --destination "$to" "$chart"
rm -rf "$(dirname "$chart")"
