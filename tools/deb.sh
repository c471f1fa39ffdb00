#!/bin/bash
# Debian packages of what is built: tupled, tupled-tools, libtupled0 and libtupled-dev, in build/deb.
#   Usage: tools/deb.sh [directory for the packages]          (`make deb` builds first)
#
# `make install` into a stage, then each package takes its files from there; a file that none takes is an
# error. Only dpkg's own tools are used (dpkg-dev): debhelper would bring some fifty packages more, for what
# is a list of files and three short scripts here (debian/).
#
# Environment: DEB_REVISION (1), the version's last part, after that of include/tupled.h; SOURCE_DATE_EPOCH,
# else the time of the last commit; DEB_SERVER, another server binary to package (tests/package.sh).

set -eu
cd "$(dirname "$0")/.."
root=$PWD
export LC_ALL=C
unset MAKEFLAGS MFLAGS MAKELEVEL
umask 022

to=${1:-$root/build/deb}
version=$(awk '$2 == "TUPLED_VERSION" { gsub(/"/, ""); print $3 }' include/tupled.h)-${DEB_REVISION:-1}
arch=$(dpkg --print-architecture)
triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
libdir=/usr/lib/$triplet
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
stage=$work/stage
make -s -o all install DESTDIR="$stage" PREFIX=/usr SYSCONFDIR=/etc LIBDIR="$libdir" \
    UNITDIR=/lib/systemd/system STATEDIR=/var/lib/tupled
[ -z "${DEB_SERVER:-}" ] || install -m 755 "$DEB_SERVER" "$stage/usr/bin/tupled"
strip --strip-unneeded --remove-section=.comment --remove-section=.note "$stage/usr/bin/tupled" \
    "$stage/usr/bin/tupledctl" \
    "$stage$libdir/libtupled.so.0"
strip --strip-debug "$stage$libdir/libtupled.a"
chmod 644 "$stage$libdir/libtupled.so.0"
find "$stage/usr/share/man" -type f -exec gzip -9n {} +

# dpkg-shlibdeps and dpkg-gencontrol look for debian/ where they run.
mkdir "$work/debian"
cp debian/control "$work/debian/"
cat >"$work/debian/changelog" <<END
tupled ($version) unstable; urgency=medium

  * Version ${version%-*}.

 -- the tupled authors <tupled@localhost>  $(date -R -u -d "@$SOURCE_DATE_EPOCH")
END

# take <package> <path>...: moves them from the stage.
take() {
    local package=$1 path
    shift
    for path in "$@"; do
        mkdir -p "$work/$package$(dirname "$path")"
        mv "$stage$path" "$work/$package$path"
    done
}

# finish <package>: its documents and control files, and the package itself.
finish() {
    local package=$1 tree=$work/$1 doc=$work/$1/usr/share/doc/$1 elf
    install -D -m 644 debian/copyright "$doc/copyright"
    gzip -9nc "$work/debian/changelog" >"$doc/changelog.Debian.gz"
    chmod 644 "$doc/changelog.Debian.gz"
    mkdir -p "$tree/DEBIAN"
    mapfile -t elf < <(find "$tree/usr/bin" "$tree$libdir" -type f \
        \( -name tupled -o -name tupledctl -o -name '*.so.*' \) 2>/dev/null)
    : >"$work/$package.substvars"
    [ ${#elf[@]} -eq 0 ] || (cd "$work" && dpkg-shlibdeps -T"$work/$package.substvars" "${elf[@]}")
    (cd "$tree" && find . -type f ! -path './DEBIAN/*' -printf '%P\0' | sort -z | xargs -0 md5sum) \
        >"$tree/DEBIAN/md5sums"
    (cd "$tree" && find ./etc -type f -printf '/%P\n' 2>/dev/null | sed 's|^|/etc|') >"$work/conffiles" || true
    [ ! -s "$work/conffiles" ] || cp "$work/conffiles" "$tree/DEBIAN/conffiles"
    for script in postinst prerm postrm; do
        [ ! -f "debian/$package.$script" ] ||
            install -m 755 "debian/$package.$script" "$tree/DEBIAN/$script"
    done
    (cd "$work" && dpkg-gencontrol -p"$package" -ldebian/changelog -cdebian/control \
        -T"$work/$package.substvars" -P"$tree" -O"$tree/DEBIAN/control")
    chmod 644 "$tree/DEBIAN/control" "$tree/DEBIAN/md5sums"
    find "$tree" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
    dpkg-deb --root-owner-group -Zxz --build "$tree" "$work/out/${package}_${version}_$arch.deb" >/dev/null
}

mkdir "$work/out"
take libtupled0 "$libdir/libtupled.so.0"
take libtupled-dev "$libdir/libtupled.so" "$libdir/libtupled.a" "$libdir/pkgconfig/libtupled.pc" \
    /usr/include/tupled.h /usr/include/tupled_db.h /usr/share/man/man3/tupled_db.3.gz
install -D -m 644 docs/embedded.md "$work/libtupled-dev/usr/share/doc/libtupled-dev/embedded.md"
take tupled-tools /usr/bin/tupledctl /usr/share/bash-completion/completions/tupledctl /usr/share/man/man1/tupledctl.1.gz
take tupled /usr/bin/tupled /lib/systemd/system/tupled.service /etc/tupled/tupled.conf \
    /etc/logrotate.d/tupled /usr/share/bash-completion/completions/tupled /usr/share/man/man1/tupled.1.gz \
    /usr/share/man/man5/tupled.conf.5.gz /usr/share/doc/tupled/README.md /usr/share/doc/tupled/docs \
    /usr/share/doc/tupled/conf
left=$(find "$stage" -type f -o -type l)
if [ -n "$left" ]; then
    echo "deb: no package takes: $left" >&2
    exit 1
fi

mkdir -p "$work/libtupled0/DEBIAN"
echo "libtupled 0 libtupled0 (>= ${version%-*})" >"$work/libtupled0/DEBIAN/shlibs"
echo "activate-noawait ldconfig" >"$work/libtupled0/DEBIAN/triggers"
chmod 644 "$work"/libtupled0/DEBIAN/*
for package in libtupled0 libtupled-dev tupled-tools tupled; do finish "$package"; done

mkdir -p "$to"
rm -f "$to"/{tupled,tupled-tools,libtupled0,libtupled-dev}_*.deb
mv "$work"/out/*.deb "$to/"
ls "$to"/*_"${version}"_*.deb
