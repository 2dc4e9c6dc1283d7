#!/bin/sh
# Prints the path of a stock kubectl of at least 1.32, fetching one into .cache/kubectl if the host has none (or if told
# `fetch`).
# Debian 12 ships 1.20; the next release ships 1.32, as a program that runs here too. It is unpacked beside the
# checkout; nothing is installed and the host's package sources stay as they are.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
cache=$top/.cache/kubectl
new_enough() {
  minor=$("$1" version --client -o json 2>/dev/null | sed -n 's/.*"minor": *"\([0-9]*\).*/\1/p' | head -n 1)
  [ "${minor:-0}" -ge 32 ]
}
found=$(command -v kubectl || true); [ "${1:-}" != fetch ] || found=
for candidate in $found "$cache/usr/bin/kubectl"; do
  if [ -x "$candidate" ] && new_enough "$candidate"; then echo "$candidate"; exit 0; fi
done
command -v apt-get >/dev/null || { echo "kubectl 1.32 or newer not found" >&2; exit 1; }
mkdir -p "$cache/lists/partial" "$cache/archives/partial"
mirror=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
  sed -n 's/^bookworm  *//p' | head -n 1)
[ -n "$mirror" ] || { echo "kubectl 1.32 or newer not found, and no Debian mirror to fetch it from" >&2; exit 1; }
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" > "$cache/sources.list"
apt() {
  apt-get -q -o Dir::Etc::sourcelist="$cache/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$cache/lists" \
    -o Dir::Cache="$cache" -o APT::Sandbox::User=root "$@"
}
{ apt update && cd "$cache" && apt download kubectl/trixie; } > "$cache/log" 2>&1 || { cat "$cache/log" >&2; exit 1; }
dpkg-deb -x "$cache"/kubectl_*.deb "$cache"
rm -rf "$cache"/kubectl_*.deb "$cache/lists" "$cache/archives" "$cache"/*.bin
new_enough "$cache/usr/bin/kubectl" || { echo "the kubectl fetched does not run here" >&2; exit 1; }
echo "$cache/usr/bin/kubectl"
