#!/bin/bash
# The Debian packages in a Debian 12 of their own: installed with what they depend on, run as the unit does
# it, upgraded, removed, purged. `make package-test` builds first. Needs root, debootstrap, redis-cli and a
# mirror of Debian (that of this machine's apt); what is missing is said, and all of it skipped.
#
# The tree is made by debootstrap once and kept as build/debian12.tar. It is entered with chroot, without any
# mount. There is no systemd in it: the test starts what ExecStart= says, as User= says, without capabilities.
# The package of before is the one of the last tag, else of the last commit but one that changed the server.
. "$(dirname "$0")/../redis-tests/server.sh"

base=$PWD/build/debian12.tar
root=$scratch/root
data=$root/var/lib/tupled

leave() {
    skip "the packages in a Debian 12" "$1"
    exit 0
}

[ "$(id -u)" = 0 ] || leave "needs root"
command -v redis-cli >/dev/null || leave "redis-cli is not installed (package redis-tools)"

# As apt has it.
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 2>/dev/null | grep -m 1 '/debian$')
mkdir "$root"
if [ ! -f "$base" ]; then
    command -v debootstrap >/dev/null || leave "debootstrap is not installed"
    timeout 500 debootstrap --variant=minbase bookworm "$root" ${mirror:+"$mirror"} >"$scratch/debootstrap" 2>&1 ||
        leave "debootstrap: $(tail -n 1 "$scratch/debootstrap")"
    timeout 60 tar -C "$root" -cf "$base.new" . && mv "$base.new" "$base"
else
    tar -C "$root" -xf "$base"
fi

inside() { timeout 300 chroot "$root" env DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
install_package() {
    cp "$1" "$root/root/tupled.deb"
    inside apt-get -q -y --no-install-recommends -o APT::Sandbox::User=root install /root/tupled.deb
}
unit() { sed -n "s/^$1=//p" "$root/lib/systemd/system/tupled.service"; }
owner() { inside stat -c '%U:%G %a' "$1"; }
ask() { timeout 20 redis-cli -p "$port" "$@" 2>&1; }

# As the unit does, but for the port.
start_installed() {
    local tries words
    read -ra words <<<"$(unit ExecStart)"
    : >"$scratch/log"
    chroot "$root" /usr/bin/env TUPLED_TEST_ANY_PORT=1 setpriv --reuid="$(unit User)" --regid="$(unit Group)" --clear-groups \
        --no-new-privs --bounding-set=-all "${words[@]}" --port 0 >"$scratch/log" 2>&1 &
    server=$!
    port=
    for ((tries = 0; tries < 2000; tries++)); do
        port=$(sed -n 's/.*ready to accept connections on .* port \([0-9]*\)$/\1/p' "$scratch/log")
        [ -z "$port" ] || return 0
        kill -0 "$server" 2>/dev/null || break
        sleep 0.01
    done
    not_ok "the installed server starts"
    cat "$scratch/log"
    exit 1
}

# The package of before: $scratch/old/tupled_*.deb
old_package() {
    local ref tree=$scratch/before
    ref=$(git describe --tags --abbrev=0 HEAD^ 2>/dev/null ||
        git rev-list -n 1 --skip=1 HEAD -- src include 2>/dev/null) || return 1
    [ -n "$ref" ] || return 1
    mkdir "$tree" && git archive "$ref" | tar -x -C "$tree" || return 1
    if [ -x "$tree/tools/deb.sh" ]; then
        (unset MAKEFLAGS MAKELEVEL && make -s -j2 -C "$tree" all build/tupled.conf.5) >"$scratch/old.log" 2>&1 &&
            DEB_REVISION=0 "$tree/tools/deb.sh" "$scratch/old" >>"$scratch/old.log" 2>&1
    else
        # It had no packages: its server, packaged as it is done now.
        (unset MAKEFLAGS MAKELEVEL && make -s -j2 -C "$tree" build/tupled) >"$scratch/old.log" 2>&1 &&
            DEB_REVISION=0 DEB_SERVER=$tree/build/tupled tools/deb.sh "$scratch/old" >>"$scratch/old.log" 2>&1
    fi
    echo "# the package of before is of $ref"
}

check "the packages are built" tools/deb.sh "$scratch/new"
new=$(ls "$scratch"/new/tupled_*.deb)
[ -f "$new" ] || finish
check "apt's lists are read" inside apt-get -q -o APT::Sandbox::User=root update
[ "$failures" -eq 0 ] || leave "the mirror is not reached"

# ---- installed, run, removed, installed again ----
check "it is installed with what it depends on" install_package "$new"
same "the data directory is the server's" "tupled:tupled 750" "$(owner /var/lib/tupled)"
same "the log directory is the server's" "tupled:tupled 750" "$(owner /var/log/tupled)"
same "the settings are the server's" "tupled:tupled 750 tupled:tupled 640" \
    "$(owner /etc/tupled) $(owner /etc/tupled/tupled.conf)"
start_installed
same "the server answers" PONG "$(ask PING)"
same "it runs as its user" "$(inside id -u tupled)" "$(stat -c %u "/proc/$server")"
same "without capabilities, which it cannot get" "0000000000000000 1" \
    "$(awk '/^CapBnd/ { c = $2 } /^NoNewPrivs/ { n = $2 } END { print c, n }' "/proc/$server/status")"
same "it listens on this machine alone" "bind 127.0.0.1" "$(ask CONFIG GET bind | tr '\n' ' ' | sed 's/ $//')"
same "a key is written" OK "$(ask SET kept 'by the package')"
same "CONFIG REWRITE can replace the file" OK "$(ask CONFIG SET timeout 1234 >/dev/null && ask CONFIG REWRITE)"
same "which is still the server's" "tupled:tupled 640" "$(owner /etc/tupled/tupled.conf)"
same "and says it" "timeout 1234" "$(grep '^timeout' "$root/etc/tupled/tupled.conf")"
same "it complains of nothing" "" "$(grep ' # ' "$scratch/log")"
stop_server
check "it is removed" inside dpkg --remove tupled
check "the settings stay" grep -q '^timeout 1234' "$root/etc/tupled/tupled.conf"
check "the data stays" test -f "$data/tupled.db"
same "the server is gone" no "$([ -e "$root/usr/bin/tupled" ] && echo yes || echo no)"
check "it is installed again" install_package "$new"
start_installed
same "the key is there" "by the package" "$(ask GET kept)"
same "the settings are too" "timeout 1234" "$(ask CONFIG GET timeout | tr '\n' ' ' | sed 's/ $//')"
stop_server

# ---- purged ----
inside dpkg --purge tupled >"$scratch/purge" 2>&1
same "purge says where the data is" 1 "$(grep -c 'the data is kept in /var/lib/tupled' "$scratch/purge")"
check "and keeps it" test -f "$data/tupled.db"
same "settings and logs are gone" "" "$(ls -d "$root/etc/tupled" "$root/var/log/tupled" "$root/etc/logrotate.d/tupled" 2>/dev/null)"

# ---- upgraded ----
if old_package; then
    old=$(ls "$scratch"/old/tupled_*.deb)
    check "the package of before is installed" install_package "$old"
    start_installed
    same "the data that was kept is there" "by the package" "$(ask GET kept)"
    same "it takes a key" OK "$(ask SET older 'before the upgrade')"
    check "it is upgraded while the server runs" install_package "$new"
    same "to this version" "$(dpkg-deb -f "$new" Version)" "$(inside dpkg-query -W -f '${Version}' tupled)"
    same "the old server still answers" PONG "$(ask PING)"
    stop_server
    start_installed
    same "the new server has the key" "before the upgrade" "$(ask GET older)"
    stop_server
else
    skip "the upgrade" "the package of before cannot be built: $(tail -n 1 "$scratch/old.log" 2>/dev/null)"
fi

# ---- the tool ----
cp "$scratch"/new/tupled-tools_*.deb "$root/root/tools.deb"
check "the tool is installed beside it" inside apt-get -q -y --no-install-recommends -o APT::Sandbox::User=root install /root/tools.deb
same "it says its version" "tupledctl $(awk '$2 == "TUPLED_VERSION" { gsub(/"/, ""); print $3 }' include/tupled.h)" \
    "$(inside tupledctl --version | head -n 1 | cut -d' ' -f1,2)"

# ---- the library ----
cp "$scratch"/new/libtupled*.deb "$root/root/"
check "the library's packages are installed" inside sh -c \
    'apt-get -q -y --no-install-recommends -o APT::Sandbox::User=root install /root/libtupled*.deb'
check "the loader knows the library" inside sh -c 'ldconfig -p | grep -q libtupled.so.0'
check "all of it is removed" inside dpkg --purge tupled tupled-tools libtupled-dev libtupled0
same "nothing was mounted" "" "$(grep -F "$root" /proc/mounts)"
finish
