#!/bin/bash
# The Debian packages as files: what is in them, whose it is, what they depend on, their scripts. They are
# built, but not installed: that is tests/package.sh (`make package-test`).
. "$(dirname "$0")/server.sh"

if ! command -v dpkg-shlibdeps >/dev/null; then
    skip "the packages" "dpkg-shlibdeps is not installed (package dpkg-dev)"
    exit 0
fi
check "they are built" tools/deb.sh "$scratch/deb"
version=$(awk '$2 == "TUPLED_VERSION" { gsub(/"/, ""); print $3 }' include/tupled.h)
arch=$(dpkg --print-architecture)
deb() { echo "$scratch/deb/$1_$version-1_$arch.deb"; }
packages='libtupled-dev libtupled0 tupled-tools tupled'
same "four of them" "$(for p in $packages; do deb "$p"; done | sort)" "$(ls "$scratch"/deb/* | sort)"

contents() { dpkg-deb -c "$(deb "$1")"; }
paths() { contents "$1" | awk '$1 !~ /^d/ { print $6 }'; }
field() { dpkg-deb -f "$(deb "$1")" "$2"; }

# ---- what is where ----
for package in $packages; do
    same "$package: all of it is root's" "" "$(contents "$package" | awk '$2 != "root/root"')"
    same "$package: only root may write" "" "$(contents "$package" | awk '$1 ~ /^[^l].(....w|.......w)/')"
    check "$package: changelog and copyright" bash -c "dpkg-deb -c '$(deb "$package")' | grep -c 'usr/share/doc/$package/\(copyright\|changelog.Debian.gz\)$' | grep -qx 2"
    dpkg-deb -R "$(deb "$package")" "$scratch/$package"
    check "$package: its sums are right" bash -c "cd '$scratch/$package' && md5sum --quiet -c DEBIAN/md5sums"
done
for path in ./usr/bin/tupled ./lib/systemd/system/tupled.service ./etc/tupled/tupled.conf ./etc/logrotate.d/tupled \
    ./usr/share/man/man1/tupled.1.gz ./usr/share/man/man5/tupled.conf.5.gz \
    ./usr/share/bash-completion/completions/tupled ./usr/share/doc/tupled/docs/metrics.md \
    ./usr/share/doc/tupled/conf/grafana/tupled.json ./usr/share/doc/tupled/conf/prometheus/tupled.rules.yml; do
    check "tupled has $path" grep -qx -- "$path" <(paths tupled)
done
for path in ./usr/bin/tupledctl ./usr/share/man/man1/tupledctl.1.gz ./usr/share/bash-completion/completions/tupledctl; do
    check "tupled-tools has $path" grep -qx -- "$path" <(paths tupled-tools)
done
same "the library's package has the library" 1 "$(paths libtupled0 | grep -c '/libtupled\.so\.0$')"
same "that for developers the rest" 6 \
    "$(paths libtupled-dev | grep -cE '/(tupled|tupled_db)\.h$|/libtupled\.(a|pc|so)$|/tupled_db\.3\.gz$' )"
same "no file is in two packages" "" "$(for p in $packages; do paths "$p"; done | sort | uniq -d)"
same "settings are conffiles" "/etc/logrotate.d/tupled /etc/tupled/tupled.conf" \
    "$(sort "$scratch/tupled/DEBIAN/conffiles" | tr '\n' ' ' | sed 's/ $//')"
same "they listen on this machine alone" "" "$(grep -E '^(bind|port|protected-mode)' "$scratch/tupled/etc/tupled/tupled.conf")"
same "the data is where the unit may write" "dir /var/lib/tupled" "$(grep '^dir' "$scratch/tupled/etc/tupled/tupled.conf")"

# ---- what is needed ----
for package in $packages; do same "$package: the version is that of the source" "$version-1" "$(field "$package" Version)"; done
for library in libev4 libnghttp2-14 libsqlite3-0 libsystemd0 libxxhash0 libc6 adduser; do
    check "the server depends on $library" grep -q "$library" <(field tupled Depends)
done
# libssl3 is the package of libcrypto, too, which hashes passwords.
same "the library needs no loop and no service" "" "$(field libtupled0 Depends | grep -oE 'libev4|libsystemd0')"
same "the library knows no TLS" "" "$(objdump -p build/libtupled.so.0 | grep -o 'NEEDED.*libssl.*')"
same "the tool takes its files over from the server's package of before" "tupled (<< $version-1) tupled (<< $version-1)" \
    "$(field tupled-tools Breaks) $(field tupled-tools Replaces)"
check "the server recommends the tool" grep -q tupled-tools <(field tupled Recommends)
same "the tool needs no loop and no service" "" "$(field tupled-tools Depends | grep -oE 'libev4|libsystemd0')"
same "developers get the same version" "libtupled0 (= $version-1)" "$(field libtupled-dev Depends)"

# ---- the scripts ----
for script in postinst prerm postrm; do
    check "$script is a good shell script" sh -n "$scratch/tupled/DEBIAN/$script"
    same "$script stops at an error" 1 "$(grep -cx 'set -e' "$scratch/tupled/DEBIAN/$script")"
done
if command -v shellcheck >/dev/null; then
    check "shellcheck finds nothing" shellcheck -x -P SCRIPTDIR -S warning debian/tupled.p* tools/deb.sh tools/conf_man.sh \
        conf/tupled.bash conf/tupledctl.bash tests/package.sh redis-tests/test_install.sh redis-tests/test_package.sh redis-tests/test_container.sh
else
    skip "shellcheck" "it is not installed"
fi
same "the data is never removed" "" "$(grep -hE '^[^#]*rm .*(/var/lib|tupled-data)' debian/tupled.p* | grep -v 'echo "')"
# Only in the other order would a package be upgraded under a stopped server, or a server left stopped.
same "an upgrade stops nothing beforehand" 1 "$(grep -c 'stop tupled' debian/tupled.prerm)"
check "but restarts afterwards" grep -q 'action=restart' debian/tupled.postinst

if command -v lintian >/dev/null; then
    # There is no address to write to, and no report to Debian that this closes.
    same "lintian finds nothing else" "" "$(lintian --allow-root --fail-on none "$scratch"/deb/*.deb 2>/dev/null |
        grep -E '^[EW]:' | grep -vE 'bogus-mail-host|initial-upload-closes-no-bugs')"
else
    skip "lintian" "it is not installed"
fi

check "they are built again" tools/deb.sh "$scratch/again"
same "from the same source the same bytes" "$(cd "$scratch/deb" && sha256sum ./*)" "$(cd "$scratch/again" && sha256sum ./*)"
finish
