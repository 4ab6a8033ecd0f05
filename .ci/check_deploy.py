"""Parses the YAML in deploy/ and .github/, and checks that its parts match; `kubeconform` would fetch schemas."""

import pathlib
import re
import sys

import yaml

KINDS = {
    "Secret": "v1",
    "Service": "v1",
    "ConfigMap": "v1",
    "PodDisruptionBudget": "policy/v1",
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
}


def check_pods(document, documents, told):
    """Selectors find the pods, mounts have volumes, probes have ports, references have keys."""
    spec = document["spec"]
    pod = spec["template"]["spec"]
    labels = spec["template"]["metadata"]["labels"]
    if not spec["selector"]["matchLabels"].items() <= labels.items():
        told("its selector does not match its own pods")
    volumes = {volume["name"] for volume in pod.get("volumes", [])}
    volumes |= {claim["metadata"]["name"] for claim in spec.get("volumeClaimTemplates", [])}
    secrets = {
        other["metadata"]["name"]: set(other.get("stringData", {}))
        for other in documents
        if other["kind"] == "Secret"
    }
    for container in pod["containers"]:
        ports = {port["name"] for port in container["ports"]}
        for mount in container["volumeMounts"]:
            if mount["name"] not in volumes:
                told(f"no volume {mount['name']}")
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            if container[probe]["httpGet"]["port"] not in ports:
                told(f"{probe}: no such port")
        for variable in container["env"]:
            reference = variable.get("valueFrom", {}).get("secretKeyRef")
            if ("value" in variable) == (reference is not None):
                told(f"{variable['name']} needs one value")
            if reference and reference["key"] not in secrets.get(reference["name"], ()):
                told(f"{variable['name']}: no such key")
        context = container["securityContext"]
        if not context["readOnlyRootFilesystem"] or context["allowPrivilegeEscalation"]:
            told("the container may do more than it needs")


def check_kubernetes(documents, told):
    for document in documents:
        kind = document["kind"]
        if KINDS.get(kind) != document["apiVersion"]:
            told(f"{kind} is not of {document['apiVersion']}")
        if kind in ("Deployment", "StatefulSet"):
            check_pods(document, documents, told)
        if kind == "Service":
            selector = document["spec"]["selector"].items()
            pods = [other["spec"]["template"]["metadata"]["labels"] for other in documents if "template" in other.get("spec", {})]
            if not any(selector <= labels.items() for labels in pods):
                told("the service finds no pods")


def check_compose(document, told):
    services, volumes = document["services"], document.get("volumes") or {}
    for name, service in services.items():
        if ("image" in service) == ("build" in service):
            told(f"{name}: image or build")
        for other in service.get("depends_on", []):
            if other not in services:
                told(f"{name}: no service {other}")
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            if source[0] not in "./" and source not in volumes:
                told(f"{name}: no volume {source}")


def check_workflow(document, told):
    """Each step uses or runs one thing; each job has a time limit; needed jobs and scripts exist."""
    # `on:` is the boolean of YAML 1.1.
    if not {"name", True, "permissions", "jobs"} <= document.keys():
        told("name, on, permissions and jobs are needed")
    jobs = document["jobs"]
    for name, job in jobs.items():
        needs = job.get("needs", [])
        for other in [needs] if isinstance(needs, str) else needs:
            if other not in jobs:
                told(f"{name}: no job {other}")
        if "timeout-minutes" not in job:
            told(f"{name}: no time limit")
        for step in job["steps"]:
            if ("uses" in step) == ("run" in step):
                told(f"{name}: a step uses or runs something")
            for script in re.findall(r"(?:\.ci|deploy|benches)/[\w./-]+", step.get("run", "")):
                if not pathlib.Path(script).exists():
                    told(f"{name}: no script {script}")


def main():
    faults = []
    files = sorted(pathlib.Path("deploy").rglob("*.yaml"))
    assert len(files) >= 4, files
    for path in files:
        documents = list(yaml.safe_load_all(path.read_text(encoding="utf-8")))

        def told(what, path=path):
            faults.append(f"{path}: {what}")

        if path.parent.name == "kubernetes":
            check_kubernetes(documents, told)
        elif path.parent.name == "compose":
            check_compose(documents[0], told)
    workflows = sorted(pathlib.Path(".github/workflows").glob("*.yml"))
    for path in workflows:
        check_workflow(yaml.safe_load(path.read_text(encoding="utf-8")), lambda what, path=path: faults.append(f"{path}: {what}"))
    print("\n".join(faults) or f"{len(files) + len(workflows)} files")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
