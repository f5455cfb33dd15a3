#!/bin/sh
# Installs the program with its completions, manual, systemd units, licences and documents, and the library with its
# plugins, or packs them. LIB is the folder of scripts/lib.sh.
#   package.sh install PROGRAM LIB PREFIX [DESTDIR]
#   package.sh uninstall PREFIX [DESTDIR]
#   package.sh deb PROGRAM LIB FOLDER     writes FOLDER/vidfilter_VERSION_ARCH.deb and prints its path
#   package.sh dist PROGRAM LIB FOLDER    writes FOLDER/vidfilter-VERSION-linux-ARCH.tar.xz and prints its path
#   package.sh version VERSION        prints a version of git describe as Debian orders them
# XZ_LEVEL is the level of compression, 0 to 9.
set -eu
umask 022
here=$(cd "$(dirname "$0")/.." && pwd)
level=${XZ_LEVEL:-6}
# With the time of the commit as the time of all files, the same program gives the same package.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$here" log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH
list=share/doc/vidfilter/files # the installed files, for uninstall

fail() { echo "vidfilter: $*" >&2; exit 1; }

# tree PROGRAM LIB PREFIX FOLDER: all files, for a program that will be run from PREFIX.
tree() {
	program=$1 lib=$2 prefix=$3 dest=$4
	share=$dest/share doc=$dest/share/doc/vidfilter
	zsh=site-functions
	if [ "$prefix" = /usr ]; then zsh=vendor-completions; fi # Debian's zsh reads no other there
	install -D -m 755 "$program" "$dest/bin/vidfilter"
	"$program" completion bash | install -D -m 644 /dev/stdin "$share/bash-completion/completions/vidfilter"
	"$program" completion zsh | install -D -m 644 /dev/stdin "$share/zsh/$zsh/_vidfilter"
	"$program" completion fish | install -D -m 644 /dev/stdin "$share/fish/vendor_completions.d/vidfilter.fish"
	"$program" man "$share/man/man1"
	gzip -9n "$share"/man/man1/*.1
	for unit in serve worker agent; do
		sed "s|/usr/local/bin/|$prefix/bin/|" "$here/deploy/vidfilter-$unit.service" |
			install -D -m 644 /dev/stdin "$dest/lib/systemd/system/vidfilter-$unit.service"
	done
	library
	echo 'u vidfilter - "vidfilter" /var/lib/vidfilter' | install -D -m 644 /dev/stdin "$dest/lib/sysusers.d/vidfilter.conf"
	mkdir -p "$doc"
	"$program" version --licenses >"$doc/copyright"
	cp -R --no-preserve=mode "$here/README.md" "$here/ARCHITECTURE.md" "$here/CHANGELOG.md" "$here/PERFORMANCE.md" "$here/LICENSE" \
		"$here/docs" "$here/deploy" "$doc"
	rm "$doc"/deploy/*.service # in lib
	touch "$dest/$list"
	(cd "$dest" && find . ! -type d | cut -c 3- | LC_ALL=C sort) >"$work/list"
	cp "$work/list" "$dest/$list"
}

# library installs the files for other programs.
library() {
	for so in libvidfilter.so.1 frei0r-1/vidfilter.so vapoursynth/vidfilter.so; do
		install -D -m 644 "$lib/$so" "$dest/lib/$so"
	done
	ln -s libvidfilter.so.1 "$dest/lib/libvidfilter.so"
	install -D -m 644 "$lib/vidfilter.h" "$dest/include/vidfilter.h"
	install -D -m 644 /dev/stdin "$dest/lib/pkgconfig/vidfilter.pc" <<EOF
prefix=$prefix

Name: vidfilter
Description: denoiser for video
Version: $("$program" --version | cut -d ' ' -f 2)
Cflags: -I\${prefix}/include
Libs: -L\${prefix}/lib -lvidfilter
EOF
}

# sudo only if the folder needs it.
sudo_for() { # FOLDER
	mkdir -p "$1" 2>/dev/null || true
	if [ ! -w "$1" ]; then echo sudo; fi
}

version() { # a pre-release comes before its release, and a commit after a tag behind the tag; without a tag, before all
	case $1 in
	v[0-9]* | [0-9]*.[0-9]*) echo "${1#v}" | sed -E 's/-(alpha|beta|pre|rc)/~\1/' ;;
	*) echo "0~$(git -C "$here" rev-list --count HEAD 2>/dev/null || echo 0).$1" ;;
	esac | tr -c 'A-Za-z0-9.+~\n' +
}

# glibc prints the version of glibc that files need, and fails if they need another library.
glibc() {
	other=$(objdump -p "$@" | awk '$1 == "NEEDED" && $2 !~ /^(libc|libm|libdl|libpthread|librt|libresolv|ld-linux[-a-z0-9_]*)\.so/ { print $2 }')
	if [ -n "$other" ]; then fail "$* needs libraries beside glibc, on which the package does not depend: $(echo "$other" | xargs)"; fi
	objdump -p "$@" | sed -n 's/.* GLIBC_\([0-9.]*\)$/\1/p' | sort -V | tail -n 1
}

script() { install -m 755 /dev/stdin "$work/deb/DEBIAN/$1"; }

deb() {
	name=$(version "$("$1" --version | cut -d ' ' -f 2)")
	arch=$(dpkg --print-architecture)
	libc=$(glibc "$1" "$2/libvidfilter.so.1")
	tree "$1" "$2" /usr "$work/deb/usr"
	mkdir "$work/deb/DEBIAN"
	echo "activate-noawait ldconfig" >"$work/deb/DEBIAN/triggers"
	cat >"$work/deb/DEBIAN/control" <<EOF
Package: vidfilter
Version: $name
Architecture: $arch
Maintainer: the vidfilter authors <${DEBEMAIL:-vidfilter@localhost}>
Installed-Size: $(du -sk --apparent-size "$work/deb/usr" | cut -f 1)
Depends: libc6 (>= $libc)
Suggests: libcuda1, libnvcuvid1
Section: video
Priority: optional
Description: denoiser for video that keeps everything else in the file
 vidfilter measures the noise of each scene, tracks motion through the frames
 before and after, averages the matches, and encodes the result. Audio,
 subtitles, chapters and metadata are kept. It runs on all CPU cores or on
 NVIDIA GPUs, on single files, batches, fleets of machines and live pictures.
 The package also has a library for C and plugins for frei0r and VapourSynth.
EOF
	(cd "$work/deb" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$work/deb/DEBIAN/md5sums"
	# The units run as the user vidfilter. They are not enabled.
	script postinst <<'EOF'
#!/bin/sh
set -e
if command -v systemd-sysusers >/dev/null; then systemd-sysusers vidfilter.conf; fi
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
EOF
	script prerm <<'EOF'
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
	systemctl disable --now vidfilter-serve.service vidfilter-worker.service vidfilter-agent.service
fi
EOF
	script postrm <<'EOF'
#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
EOF
	out=$3/vidfilter_${name}_$arch.deb
	dpkg-deb --root-owner-group -Zxz -z"$level" --build "$work/deb" "$out" >/dev/null
	echo "$out"
}

dist() {
	name=vidfilter-$("$1" --version | cut -d ' ' -f 2)-linux-$(uname -m)
	libc=$(glibc "$1" "$2/libvidfilter.so.1")
	tree "$1" "$2" /usr/local "$work/$name"
	cat >"$work/$name/README" <<EOF
vidfilter runs from this folder as bin/vidfilter, with glibc $libc or newer. To install it:

    sudo cp -R bin include lib share /usr/local && sudo ldconfig

and to remove it:

    cd /usr/local && sudo xargs rm -f <$list && sudo rm -r share/doc/vidfilter

share/doc/vidfilter/README.md describes the program, share/doc/vidfilter/copyright has the licences.
EOF
	out=$3/$name.tar.xz
	tar -C "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -c "$name" | xz -T0 "-$level" >"$out.part"
	mv "$out.part" "$out"
	echo "$out"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case $#$1 in
4install | 5install)
	tree "$2" "$3" "$4" "$work/tree"
	dest=${5:-}$4
	sudo=$(sudo_for "$dest")
	$sudo cp -R --remove-destination "$work/tree/." "$dest"
	if [ "$dest" = "$4" ]; then $sudo ldconfig 2>/dev/null || true; fi # which a user's own folder does not need
	echo "installed $dest/bin/vidfilter"
	;;
2uninstall | 3uninstall)
	dest=${3:-}$2
	[ -f "$dest/$list" ] || fail "vidfilter is not installed below $dest: there is no $dest/$list"
	sudo=$(sudo_for "$dest")
	(cd "$dest" && $sudo xargs rm -f <"$list" && $sudo rm -rf share/doc/vidfilter)
	;;
4deb) deb "$2" "$3" "$4" ;;
4dist) dist "$2" "$3" "$4" ;;
2version) version "$2" ;;
*) fail "usage: package.sh install|uninstall|deb|dist|version ..., see the top of $0" ;;
esac
