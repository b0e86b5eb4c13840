#!/usr/bin/env bash
# Makes the files of a release from the last commit: programs, packages, an image, a bill of materials,
# checksums: scripts/release/README.md.
#
#   scripts/release.sh [-o FOLDER] [VERSION]
#
# FOLDER is new or empty (default dist). VERSION, such as v1.2.3, tags the commit only in a temporary clone.
# Without it the version is the commit's tag, or Go makes one from the commit.
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

umask 022
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git clone --quiet --shared "$top" "$work/flashsale"
if [[ $version ]]; then
	there=$(git -C "$work/flashsale" rev-parse --quiet --verify "$version^{commit}" || true)
	[[ -z $there || $there == "$(git -C "$work/flashsale" rev-parse HEAD)" ]] ||
		fail "the tag $version is on another commit"
	git -C "$work/flashsale" tag --force "$version" >/dev/null
fi
cd "$work/flashsale"
revision=$(git rev-parse HEAD)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH-$(git log -1 --format=%ct)}
[[ $SOURCE_DATE_EPOCH =~ ^[0-9]+$ ]] || fail "SOURCE_DATE_EPOCH is no number of seconds"
export SOURCE_DATE_EPOCH TZ=UTC LC_ALL=C.UTF-8
stage=$work/stage
mkdir -p "$stage" "$out"
[[ -z $(ls -A "$out") ]] || fail "$out is not empty: remove it, or name another folder"

# Go settings of this machine must not change the program.
export CGO_ENABLED=0 GOFLAGS=-mod=readonly GOAMD64=v1 GOARM64=v8.0 GOEXPERIMENT= GOFIPS140=off GOWORK=off
for arch in amd64 arm64; do
	GOOS=linux GOARCH=$arch go build -trimpath -buildvcs=true -ldflags='-s -w' -o "$stage/$arch/flashsale" .
done
program=$stage/$(go env GOARCH)/flashsale
built=$("$program" -version | sed 's/^flashsale \(v[^,]*\),.*/\1/')
[[ -z $version || $built == "$version" ]] || fail "the version is $built, want $version"
# dpkg and rpm sort 1.2.3~rc.1 before 1.2.3, and use the hyphen otherwise.
VERSION=${built#v}
[[ $VERSION != *-* ]] || VERSION=${VERSION%%-*}~$(tr - . <<<"${VERSION#*-}")
export VERSION
name=$out/flashsale_$VERSION

# changelog has Debian's form: the subjects of all commits since the last release.
changelog() {
	local last
	last=$(git describe --tags --abbrev=0 HEAD^ 2>/dev/null) && last+=..
	printf 'flashsale (%s) stable; urgency=medium\n\n' "$VERSION"
	{ echo "Release of commit $revision."; git log --no-merges --format=%s "${last:-HEAD}"; } | awk '{
		line = "  *"
		for (i = 1; i <= NF; i++) {
			if (length(line " " $i) > 78) { print line; line = "   " }
			line = line " " $i
		}
		print line
	}'
	printf '\n -- %s  %s\n' "$(sed -n 's/^maintainer: //p' nfpm.yaml)" "$(date -Rd "@$SOURCE_DATE_EPOCH")"
}

# Options of tar, for the same bytes every time.
same=(--sort=name --format=ustar "--mtime=@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner)

cd scripts/release
cp -r ../deploy/flashsale.service completion/* copyright deb rpm nfpm.yaml "$stage"
go build -trimpath -buildvcs=false -o "$work/release" .
"$work/release" documents "$stage" "$work/flashsale" "$built" "$revision"
changelog >"$stage/changelog"
gzip -9nk "$stage"/{flashsale.1,notices.txt,changelog}
cp "$stage/sbom.cdx.json" "${name}_sbom.cdx.json"
find "$stage" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +

nfpm=$(go tool -n nfpm)
for arch in amd64 arm64; do
	folder=flashsale_${VERSION}_linux_$arch
	mkdir "$work/$folder"
	(cd "$stage" && cp _flashsale flashsale.{1,bash,conf,fish,service} notices.txt "$arch/flashsale" \
		"$work/$folder")
	tar "${same[@]}" -C "$work" -c "$folder" | gzip -n >"$out/$folder.tar.gz"
	cp -p "$stage/$arch/flashsale" "$stage"
	for format in deb rpm; do
		(cd "$stage" && ARCH=$arch "$nfpm" package --packager $format --target "$out" >"$work/log" 2>&1) ||
			{ cat "$work/log" >&2; fail "cannot make the $format"; }
	done
done

# The image has two layers: a base that hardly changes from release to release, and the program.
base=$work/base
mkdir -p "$base"/{etc/ssl/certs,tmp,var/lib/flashsale}
chmod 1777 "$base/tmp"
chmod 700 "$base/var/lib/flashsale"
printf 'root:x:0:\nflashsale:x:65532:\n' >"$base/etc/group"
cat >"$base/etc/passwd" <<'END'
root:x:0:0:root:/:/sbin/nologin
flashsale:x:65532:65532:flashsale:/var/lib/flashsale:/sbin/nologin
END
cp "$stage/ca-certificates.crt" "$base/etc/ssl/certs"
tar "${same[@]}" -C "$base" -cf "$work/base.tar" --exclude=flashsale etc tmp var
tar "${same[@]}" -C "$base" -rf "$work/base.tar" --owner=65532 --group=65532 var/lib/flashsale
for arch in amd64 arm64; do
	mkdir -p "$work/$arch/usr/"{bin,share/doc/flashsale}
	cp "$stage/$arch/flashsale" "$work/$arch/usr/bin"
	cp "$stage"/{notices.txt,sbom.cdx.json} "$work/$arch/usr/share/doc/flashsale"
	tar "${same[@]}" -C "$work/$arch" -cf "$work/$arch.tar" usr
done
"$work/release" image "$work/image" "$built" "$revision" "$work/base.tar" \
	amd64="$work/amd64.tar" arm64="$work/arm64.tar"
tar "${same[@]}" -C "$work/image" -cf "${name}_oci.tar" blobs index.json oci-layout

(cd "$out" && sha256sum -- * >"$work/sums" && mv "$work/sums" SHA256SUMS)
echo "release $built is in $out"
