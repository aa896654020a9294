"""Files to run the service with, as they are printed by ``gangplan deploy NAME``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True, slots=True)
class DeployFile:
    """One of the files.

    Attributes:
        file: its name here, and the last part of the one that it usually has.
        about: what it is for, in a line.
    """

    file: str
    about: str

    def read(self) -> str:
        """What is in it."""
        return resources.files(__name__).joinpath(self.file).read_text(encoding="utf-8")


FILES: Mapping[str, DeployFile] = {
    "config": DeployFile("gangplan.yaml", "settings, for `gangplan serve --config`"),
    "callers": DeployFile("callers.yaml", "who may call, for `gangplan serve --callers`"),
    "container": DeployFile("Containerfile", "image, built from a checkout: podman build -f - ."),
    "systemd": DeployFile("gangplan@.service", "unit, two of which take turns without a gap"),
    "kubernetes": DeployFile("kubernetes.yaml", "manifests with probes, for kubectl apply -f -"),
    "dashboard": DeployFile("dashboard.json", "Grafana dashboard of the metrics"),
    "alerts": DeployFile("alerts.yaml", "Prometheus alerting rules on the metrics"),
}
"""By the name that the command line takes."""
