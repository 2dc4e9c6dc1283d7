#!/bin/sh
# Installs the system packages that a node (default), its tests (`test`) or its tests on virtual machines (`vm`) need and that are missing.
set -eu
export DEBIAN_FRONTEND=noninteractive
node="containerd runc libnftables1 busybox-static catatonit python3 python3-venv ca-certificates"
test="$node nftables iproute2 docker-registry skopeo containernetworking-plugins procps make"
vm="$test qemu-system-x86 qemu-utils debootstrap e2fsprogs openssh-client"
case ${1:-node} in
  node) wanted=$node ;;
  test) wanted=$test ;;
  vm) wanted=$vm ;;
  *) echo "usage: $0 [node|test|vm]" >&2; exit 2 ;;
esac
missing=
for package in $wanted; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $package"
done
# A python3 outside the distribution's packages does as well, if it is new enough and can make virtual environments.
if python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  missing=$(printf '%s\n' $missing | grep -vxE 'python3|python3-venv' | tr '\n' ' ' || true)
fi
[ -n "${missing# }" ] || exit 0
command -v apt-get >/dev/null || { echo "install these packages first:$missing" >&2; exit 1; }
echo "installing system packages:$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { apt-get -q update && apt-get -q install -y --no-install-recommends $missing; } >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
# The packages start services of their own; a node brings its own containerd and needs none of them.
