#!/bin/bash
# conf/kubernetes.yaml against the schemas of Kubernetes, which the package kubernetes-validate of PyPI has (100 MB).
. "$(dirname "$0")/server.sh"

if ! python3 -m venv "$scratch/env" >"$scratch/said" 2>&1 ||
    ! "$scratch/env/bin/pip" install -q kubernetes-validate==1.37.0 >"$scratch/said" 2>&1; then
    skip "conf/kubernetes.yaml and its schemas" "kubernetes-validate cannot be installed"
    finish
fi
check "conf/kubernetes.yaml fits the schemas" "$scratch/env/bin/kubernetes-validate" --strict conf/kubernetes.yaml
sed 's/  serviceName:/  serviceNames:/' conf/kubernetes.yaml >"$scratch/wrong.yaml"
"$scratch/env/bin/kubernetes-validate" --strict "$scratch/wrong.yaml" >"$scratch/said" 2>&1
same "... and a name that is wrong does not" 1 $?
finish
