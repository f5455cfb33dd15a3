#!/bin/sh
# Makes a fresh Debian for tests of packages, the release of this machine without any package beyond the essential ones,
# once into the cache as a tarball, and prints its path. It needs debootstrap and root, and takes two minutes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
suite=${1:-$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)}
cache=$("$here/ffmpeg.sh" --cache)
file=$cache/debian-$suite.tar.gz

mkdir -p "$cache"
exec 9>"$file.lock"
flock 9 # tests ask for it at the same time
if [ ! -f "$file" ]; then
	# shellcheck disable=SC2016 # apt's own variables
	site=$(apt-get indextargets --format '$(SITE) $(COMPONENT) $(CREATED_BY)' 'Label: Debian' | awk '$2 == "main" && $3 == "Packages" { print $1; exit }')
	if [ -z "$site" ]; then
		echo "vidfilter: apt knows no server of Debian" >&2
		exit 1
	fi
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	chmod 755 "$work"
	if ! debootstrap --variant=minbase "$suite" "$work/root" "$site" >"$cache/debian.log" 2>&1; then
		tail -n 5 "$cache/debian.log" >&2
		echo "vidfilter: debootstrap failed; the whole log is $cache/debian.log" >&2
		exit 1
	fi
	tar -C "$work/root" --exclude './var/cache/apt/*' --exclude './var/lib/apt/lists/*' -c . | gzip -1 >"$file.part"
	mv "$file.part" "$file"
fi
echo "$file"
