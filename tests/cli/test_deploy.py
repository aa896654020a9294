"""Service files: what ``gangplan deploy`` prints is right, as far as can be told without a cluster."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from gangplan.cli.main import application
from gangplan.deploy import FILES
from gangplan.observe.metrics import Metrics
from gangplan.service.security.callers import read_callers

HOUSE = Path(__file__).parents[2]


def run(verb: str, *words: str) -> Any:
    return CliRunner().invoke(application(verb), [verb, *words])


def settings(content: str, folder: Path) -> dict[str, Any]:
    """What ``gangplan serve`` makes of a file of settings."""
    file = folder / "gangplan.yaml"
    file.write_text(content)
    done = run("serve", "--config", str(file), "--show-config")
    assert done.exit_code == 0, done.stderr
    found: dict[str, Any] = yaml.safe_load(done.stdout)
    return found


def test_each_file_is_printed_as_it_is() -> None:
    listed = run("deploy").stdout
    for name, file in FILES.items():
        assert re.search(rf"^{name} +{re.escape(file.file)} +\w", listed, re.MULTILINE)
        assert run("deploy", name).stdout == file.read()
    wrong = run("deploy", "helm")
    assert (wrong.exit_code, wrong.stdout) == (3, "")
    assert "must be one of config, callers" in wrong.stderr


def test_no_file_is_left_out() -> None:
    there = {path.name for path in (HOUSE / "src/gangplan/deploy").iterdir()}
    assert there - {"__init__.py", "__pycache__"} == {file.file for file in FILES.values()}


def test_the_settings_are_such(tmp_path: Path) -> None:
    found = settings(FILES["config"].read(), tmp_path)
    assert (found["host"], found["health_port"], found["reuse_port"]) == ("0.0.0.0", 50052, True)


def test_the_callers_are_such(tmp_path: Path) -> None:
    file = tmp_path / "callers.yaml"
    file.write_text(FILES["callers"].read())
    assert [caller.name for caller in read_callers(file)] == ["example-scheduler", "example-board"]
    done = run("token", "another", "--callers", str(file))
    assert done.exit_code == 0, done.stderr
    assert len(read_callers(file)) == 3


@pytest.fixture(scope="module")
def samples() -> set[str]:
    """Every name under which Prometheus finds something."""
    names = set()
    for family in Metrics().registry.collect():
        suffixes = {
            "counter": ["_total"],
            "histogram": ["_bucket", "_sum", "_count"],
            "info": ["_info"],
        }.get(family.type, [""])
        names |= {family.name + suffix for suffix in suffixes}
    return names


def asked(expression: str) -> set[str]:
    """The metrics in an expression of PromQL."""
    bare = re.sub(r'"[^"]*"', "", expression)
    return set(re.findall(r"\b(?:gangplan|process)_\w+", bare))


def expressions(document: Any) -> Iterator[str]:
    if isinstance(document, dict):
        for key, value in document.items():
            if key == "expr":
                yield value
            else:
                yield from expressions(value)
    elif isinstance(document, list):
        for value in document:
            yield from expressions(value)


def test_the_dashboard_asks_for_metrics_that_exist_and_leaves_none_out(samples: set[str]) -> None:
    dashboard = json.loads(FILES["dashboard"].read())
    found = set().union(*map(asked, expressions(dashboard)))
    assert found <= samples
    ours = {name for name in samples if name.startswith("gangplan_")}
    assert {name for name in ours - found if not name.endswith(("_sum", "_count"))} == set()
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for panel in panels
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(set(cells)) == len(cells)  # no panel lies on another
    assert max(x for x, _ in cells) < 24
    labels = {
        label
        for panel in panels
        for t in panel["targets"]
        for label in re.findall(r"{{(\w+)}}", t["legendFormat"])
    }
    assert labels <= {
        "code",
        "method",
        "reason",
        "limit",
        "pipeline",
        "phase",
        "kind",
        "version",
        "instance",
        "outcome",
    }


def test_the_alerts_watch_metrics_that_exist(samples: set[str]) -> None:
    alerts = yaml.safe_load(FILES["alerts"].read())
    found = list(expressions(alerts))
    assert len(found) == 5
    assert all(asked(each) and asked(each) <= samples for each in found)
    codes = {word for each in found for value in re.findall(r'"([^"]+)"', each) for word in value.split("|")}
    assert codes == {"INTERNAL", "UNAUTHENTICATED", "PERMISSION_DENIED"}


def test_the_container_file_copies_what_there_is() -> None:
    text = FILES["container"].read().replace("\\\n", " ")
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]
    assert {word for word, _ in lines} <= set(
        "ARG FROM WORKDIR COPY RUN ENV USER VOLUME EXPOSE STOPSIGNAL ENTRYPOINT CMD".split()
    )
    copied = [words.split() for word, words in lines if word == "COPY" and not words.startswith("--from")]
    sources = [source for words in copied for source in words[:-1]]
    assert {"pyproject.toml", "src", "solvers"} <= set(sources)
    assert [source for source in sources if not (HOUSE / source).exists()] == []
    values = dict(lines)
    entry, command = json.loads(values["ENTRYPOINT"]), json.loads(values["CMD"])
    assert [Path(entry[0]).name, command[0]] == ["gangplan", "serve"]
    assert values["USER"] == "10001:10001"
    bases = [words.split()[0] for word, words in lines if word == "FROM"]
    assert bases == ["${BASE}", "${BASE}"]  # what is built in the one runs in the other
    assert values["ARG"].startswith("BASE=")
    found = yaml.safe_load(FILES["config"].read())
    ports = [found[name] for name in ("port", "health_port", "metrics_port")]
    assert list(map(int, values["EXPOSE"].split())) == ports
    kept = json.loads(values["VOLUME"])
    assert kept == [str(Path(found["sessions"]).parent), values["ENV"].removeprefix("NUMBA_CACHE_DIR=")]
    extras = re.search(r"\.\[([\w,]+)\]", values["RUN"] + text)
    assert extras is not None
    project = (HOUSE / "pyproject.toml").read_text()
    assert all(f"\n{extra} = [" in project for extra in extras[1].split(","))


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    unit = FILES["systemd"].read()
    assert "KillMode=mixed" in unit
    assert "Type=notify" in unit
    assert (
        int(re.findall(r"TimeoutStopSec=(\d+)", unit)[0])
        > settings(FILES["config"].read(), tmp_path)["grace"]
    )
    file = tmp_path / "gangplan@blue.service"
    file.write_text(
        unit.replace("/opt/gangplan/bin/gangplan", sys.executable).replace("User=gangplan", "User=root")
    )
    done = subprocess.run(
        [analyze, "verify", "--man=no", "--recursive-errors=no", str(file)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    about = [line for line in (done.stdout + done.stderr).splitlines() if "gangplan@" in line]
    assert about == []
    assert done.returncode == 0, done.stderr


# What the API server takes of each kind, as far as it is used (Kubernetes API reference, 1.32).
STRINGS: dict[str, Any] = {"*": str}
LABELS = {"matchLabels": STRINGS}
META = {"name": str, "namespace": str, "labels": STRINGS}
PROBE = {"grpc": {"port": int}, "periodSeconds": int, "timeoutSeconds": int, "failureThreshold": int}
CONTAINER = {
    "name": str,
    "image": str,
    "args": [str],
    "env": [{"name": str, "valueFrom": {"secretKeyRef": {"name": str, "key": str}}}],
    "ports": [{"name": str, "containerPort": int}],
    "startupProbe": PROBE,
    "readinessProbe": PROBE,
    "livenessProbe": PROBE,
    "lifecycle": {"preStop": {"exec": {"command": [str]}}},
    "resources": {"requests": STRINGS, "limits": STRINGS},
    "securityContext": {
        "allowPrivilegeEscalation": bool,
        "readOnlyRootFilesystem": bool,
        "capabilities": {"drop": [str]},
    },
    "volumeMounts": [{"name": str, "mountPath": str, "readOnly": bool}],
}
POD = {
    "serviceAccountName": str,
    "automountServiceAccountToken": bool,
    "terminationGracePeriodSeconds": int,
    "securityContext": {
        "runAsNonRoot": bool,
        "runAsUser": int,
        "runAsGroup": int,
        "fsGroup": int,
        "seccompProfile": {"type": str},
    },
    "topologySpreadConstraints": [
        {"maxSkew": int, "topologyKey": str, "whenUnsatisfiable": str, "labelSelector": LABELS}
    ],
    "containers": [CONTAINER],
    "volumes": [
        {
            "name": str,
            "configMap": {"name": str},
            "secret": {"secretName": str, "defaultMode": int},
            "emptyDir": {},
        }
    ],
}
HEAD = {"apiVersion": str, "kind": str, "metadata": META}
KINDS: dict[tuple[str, str], dict[str, Any]] = {
    ("v1", "ServiceAccount"): {**HEAD, "automountServiceAccountToken": bool},
    ("v1", "ConfigMap"): {**HEAD, "data": STRINGS},
    ("apps/v1", "Deployment"): {
        **HEAD,
        "spec": {
            "replicas": int,
            "selector": LABELS,
            "strategy": {"type": str, "rollingUpdate": {"maxSurge": int, "maxUnavailable": int}},
            "template": {"metadata": {"labels": STRINGS}, "spec": POD},
        },
    },
    ("v1", "Service"): {
        **HEAD,
        "spec": {
            "clusterIP": str,
            "selector": STRINGS,
            "ports": [{"name": str, "port": int, "targetPort": str, "appProtocol": str}],
        },
    },
    ("policy/v1", "PodDisruptionBudget"): {**HEAD, "spec": {"minAvailable": int, "selector": LABELS}},
}


def faults(value: Any, schema: Any, where: str) -> Iterator[str]:
    """Where a manifest is not what the schema says."""
    if isinstance(schema, list):
        if not isinstance(value, list) or not value:
            yield f"{where} is no list"
            return
        for place, each in enumerate(value):
            yield from faults(each, schema[0], f"{where}[{place}]")
    elif isinstance(schema, dict):
        if not isinstance(value, dict):
            yield f"{where} is no mapping"
            return
        for key, each in value.items():
            inner = schema.get("*", schema.get(key))
            if inner is None:
                yield f"{where}.{key} is no field"
            else:
                yield from faults(each, inner, f"{where}.{key}")
    elif type(value) is not schema:
        yield f"{where} is {value!r}, not of {schema}"


@pytest.fixture(scope="module")
def manifests() -> dict[str, Any]:
    found = {each["kind"]: each for each in yaml.safe_load_all(FILES["kubernetes"].read())}
    assert len(found) == 5
    return found


def test_kubernetes_knows_every_field(manifests: dict[str, Any]) -> None:
    for kind, manifest in manifests.items():
        assert list(faults(manifest, KINDS[manifest["apiVersion"], kind], kind)) == []
    broken = {**manifests["Service"], "spec": {"ports": [{"port": "50051"}], "selectors": {}}}
    assert list(faults(broken, KINDS["v1", "Service"], "Service")) == [
        "Service.spec.ports[0].port is '50051', not of <class 'int'>",
        "Service.spec.selectors is no field",
    ]


def test_the_manifests_fit_together(manifests: dict[str, Any], tmp_path: Path) -> None:
    found = settings(manifests["ConfigMap"]["data"]["gangplan.yaml"], tmp_path)
    pod = manifests["Deployment"]["spec"]["template"]
    [container] = pod["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {"grpc": found["port"], "health": found["health_port"], "metrics": found["metrics_port"]}
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container[probe]["grpc"]["port"] == found["health_port"]
    assert all(port["targetPort"] in ports for port in manifests["Service"]["spec"]["ports"])
    volumes = {volume["name"] for volume in pod["spec"]["volumes"]}
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert set(mounts) == volumes
    for setting in ("tls_cert", "tls_key", "callers"):
        assert str(Path(found[setting]).parent) in mounts.values()
    assert container["args"][-1] == f"{mounts['config']}/gangplan.yaml"
    labels = pod["metadata"]["labels"]
    for kind in ("Deployment", "PodDisruptionBudget"):
        assert manifests[kind]["spec"]["selector"]["matchLabels"] == labels
    assert manifests["Service"]["spec"]["selector"] == labels
    assert pod["spec"]["terminationGracePeriodSeconds"] > found["grace"] + 5
    assert "NUMBA_CACHE_DIR=/var/cache/gangplan" in FILES["container"].read()
    assert mounts["cache"] == "/var/cache/gangplan"
    # What the service needs to listen beyond loopback is all there, and PostgreSQL for two of them.
    assert {"tls_cert", "tls_key", "callers"} <= set(found)
    assert container["env"][0]["name"] == "GANGPLAN_SESSIONS"
