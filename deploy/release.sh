#!/usr/bin/env bash
# Builds what a release is made of: archives, a list of what is in each binary (an SBOM in CycloneDX), and checksums.
#
#   git tag v1.2.3 && deploy/release.sh            into dist/
#   deploy/release.sh --output DIR                 elsewhere
#   deploy/release.sh --version 1.2.3-test         of a commit without a tag, to try it
#
# Two builds of one commit by one version of Go have the same checksums.
set -euo pipefail
cd "$(dirname "$0")/.."

output=dist version=
while [ $# -gt 0 ]; do
    case $1 in
    --output) output=${2:?--output needs a folder} && shift 2 ;;
    --version) version=${2:?--version needs a version} && shift 2 ;;
    *) echo "deploy/release.sh: unknown argument $1" >&2 && exit 2 ;;
    esac
done

if [ -z "$version" ]; then
    tag=$(git describe --tags --exact-match --match 'v[0-9]*' 2>/dev/null) || {
        echo "deploy/release.sh: this commit has no tag: git tag v1.2.3, or name a --version to try it" >&2
        exit 2
    }
    [ -z "$(git status --porcelain)" ] || { echo "deploy/release.sh: there are changes that are not committed" >&2; exit 2; }
    grep -qxF "## ${tag#v}" deploy/CHANGELOG.md || { echo "deploy/release.sh: deploy/CHANGELOG.md has no heading \"## ${tag#v}\"" >&2; exit 2; }
    version=${tag#v}
    # What runs in Kubernetes is named in these files.
    for file in deploy/helm/dealhouse/Chart.yaml deploy/kubernetes/overlays/*/kustomization.yaml; do
        grep -qE "^ *(version|newTag): \"?${version//./\\.}\"?$" "$file" || { echo "deploy/release.sh: $file names another version than $version" >&2; exit 2; }
    done
fi
[[ $version =~ ^[0-9A-Za-z.+-]+$ ]] || { echo "deploy/release.sh: $version is no version" >&2; exit 2; }
revision=$(git rev-parse --short=12 HEAD)
when=$(git log -1 --format=%ct)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$output"
output=$(realpath "$output")
export CGO_ENABLED=0 SOURCE_DATE_EPOCH=$when
(cd deploy/test && go build -o "$work/sbom" ./sbom)

# archive NAME GOOS GOARCH TAGS PROGRAM...: builds the programs and packs them with what belongs to them.
archive() {
    local name=dealhouse_${version}_$1 os=$2 arch=$3 tags=$4
    shift 4
    mkdir -p "$work/$name"
    for program in "$@"; do
        GOOS=$os GOARCH=$arch go build -trimpath -buildvcs=false -tags "$tags" \
            -ldflags "-s -w -X main.version=$version -X main.revision=$revision" -o "$work/$name/" "./cmd/$program"
    done
    "$work/sbom" "$work/$name/$1" "$version" >"$output/$name.sbom.json"
    cp --parents "${documents[@]}" "$work/$name/"
    tar --sort=name --mtime="@$when" --owner=0 --group=0 --numeric-owner --format=gnu -C "$work" -c "$name" | gzip -9n >"$output/$name.tar.gz"
    files+=("$name.tar.gz" "$name.sbom.json")
}

# What the documents link to goes with them, but for the sources.
mapfile -t documents < <(git ls-files LICENSE config.example.toml '*.md' deploy/status-page.png deploy/systemd/ \
    deploy/prometheus/rules/ deploy/grafana/dashboards/ deploy/kubernetes/ deploy/helm/ deploy/compose/clickhouse-users.xml)
files=()
archive linux_amd64 linux amd64 "" dealhouse dealsim # with the embedded engine, which needs glibc
archive linux_amd64_static linux amd64 noengine dealhouse dealsim
archive linux_arm64_static linux arm64 noengine dealhouse dealsim
archive darwin_arm64_static darwin arm64 noengine dealhouse dealsim
(cd "$output" && sha256sum "${files[@]}" >SHA256SUMS)
echo "dealhouse $version ($revision) is in $output:"
(cd "$output" && ls -l "${files[@]}" SHA256SUMS | awk '{print "  " $9 "  " $5 " bytes"}')
