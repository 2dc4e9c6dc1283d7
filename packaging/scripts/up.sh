#!/bin/sh
# Starts the node, deploys examples/hello.yaml and shows what each of its pods answers on its own address.
set -eu
cd "$(dirname "$0")/../.."
.venv/bin/orlop up --detach
kubectl=$(packaging/scripts/kubectl.sh)
export KUBECONFIG=/etc/orlop/admin.kubeconfig
"$kubectl" apply -f examples/hello.yaml
if ! "$kubectl" rollout status deployment/hello --timeout=120s; then
  "$kubectl" get pods -l app=hello -o wide >&2
  "$kubectl" get events --field-selector type=Warning --sort-by=.lastTimestamp >&2
  echo "the logs of the node are in /var/lib/orlop/log" >&2
  exit 1
fi
for address in $("$kubectl" get pods -l app=hello -o jsonpath='{range .items[*]}{.status.podIP}{"\n"}{end}'); do
  printf 'http://%s:8080/ answers: ' "$address"
  timeout 10 busybox wget -q -O - "http://$address:8080/"
done
echo
echo "The cluster is yours:"
echo "  export KUBECONFIG=$KUBECONFIG"
[ "$kubectl" = "$(command -v kubectl || true)" ] || echo "  export PATH=$(dirname "$kubectl"):\$PATH"
echo "  kubectl get nodes,pods -A -o wide"
