"""What is said when hypothesis, an optional extra, is missing."""

import importlib
import sys

import pytest


def test_strategies_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    monkeypatch.delitem(sys.modules, "gangplan.testing.strategies", raising=False)
    with pytest.raises(ImportError, match=r"pip install 'gangplan\[testing\]'"):
        importlib.import_module("gangplan.testing.strategies")


@pytest.mark.parametrize("name", ["builders", "enumerate", "mutations"])
def test_the_rest_needs_nothing(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    monkeypatch.delitem(sys.modules, f"gangplan.testing.{name}", raising=False)
    importlib.import_module(f"gangplan.testing.{name}")
