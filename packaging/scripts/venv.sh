#!/bin/sh
# Makes .venv with the versions of constraints.txt: what a node runs, and with `dev` what its tests and linters need too.
set -eu
cd "$(dirname "$0")/../.."
what=${1:-run}
stamp=.venv/.made-$what
# Up to date if made after the last change of what it was made from.
if [ -e "$stamp" ] && [ ! pyproject.toml -nt "$stamp" ] && [ ! constraints.txt -nt "$stamp" ]; then exit 0; fi
echo "installing Python packages into .venv ($what)"
[ -x .venv/bin/python ] || python3 -m venv .venv
extra=; [ "$what" = dev ] && extra='[dev]'
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! .venv/bin/pip install --disable-pip-version-check -c constraints.txt -e ".$extra" >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
touch "$stamp"; [ "$what" = dev ] && touch .venv/.made-run
exit 0
