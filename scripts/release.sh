#!/usr/bin/env bash
# Makes the files of a release from the last commit: programs, packages, an image, a bill of materials,
# checksums. scripts/release/README.md tells what is in each.
#
#   scripts/release.sh [-o FOLDER] [VERSION]
#
# FOLDER is new or empty (default dist). VERSION, as v1.2.3, tags the commit, but only in the clone that the
# release is made from. Without it the version is the commit's tag, or one that Go makes of the commit.
set -euo pipefail
top=$(cd "$(dirname "$0")/.." && pwd)
out=dist

fail() {
	echo "release.sh: $*" >&2
	exit 1
}

while getopts o:h option; do
	case $option in
	o) out=$OPTARG ;;
	h) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0" && exit ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
version=${1-}
# Go puts no version from v2 on into a program of a module without /v2 in its path.
[[ -z $version || $version =~ ^v[01]\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]] ||
	fail "$version is no version of this module: it must be as v1.2.3 or v1.2.3-rc.1"
out=$(realpath -m "$out")
[[ -z $(git -C "$top" status --porcelain) ]] ||
	echo "release.sh: changes that are not committed are left out" >&2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git clone --quiet --shared "$top" "$work/flashsale"
if [[ $version ]]; then
	there=$(git -C "$work/flashsale" rev-parse --quiet --verify "$version^{commit}" || true)
	[[ -z $there || $there == "$(git -C "$work/flashsale" rev-parse HEAD)" ]] ||
		fail "the tag $version is on another commit"
	git -C "$work/flashsale" tag --force "$version" >/dev/null
fi
cd "$work/flashsale/scripts/release"
GOFLAGS=-mod=readonly go build -trimpath -buildvcs=false -o "$work/release" .
"$work/release" -source "$work/flashsale" -out "$out" -version "$version"
