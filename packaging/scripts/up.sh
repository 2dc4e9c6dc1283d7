#!/bin/sh
# Starts the node, deploys examples/hello.yaml and shows what each of its pods answers on its own address.
set -eu
cd "$(dirname "$0")/../.."
.venv/bin/orlop up --detach
kubectl=$(packaging/scripts/kubectl.sh)
export KUBECONFIG=/etc/orlop/admin.kubeconfig
"$kubectl" apply -f examples/hello.yaml
"$kubectl" rollout status deployment/hello --timeout=120s
for address in $("$kubectl" get pods -l app=hello -o jsonpath='{range .items[*]}{.status.podIP}{"\n"}{end}'); do
  printf 'http://%s:8080/ answers: ' "$address"
  timeout 10 busybox wget -q -O - "http://$address:8080/"
done
echo
echo "The cluster is yours:"
echo "  export KUBECONFIG=$KUBECONFIG"
[ "$kubectl" = "$(command -v kubectl || true)" ] || echo "  export PATH=$(dirname "$kubectl"):\$PATH"
echo "  kubectl get nodes,pods -A -o wide"
