"""Goal: what ``examples/monitoring`` hands out is right for Prometheus, and about our metrics."""

import json
import re
from pathlib import Path
from typing import Any

import yaml

from pointsman.actors.metrics import DECLARED
from tests.harness.prometheus import MONITORING, promtool

_NAME = re.compile(r"(?<![\w:])pointsman_[a-z_]+")
_SUFFIXES = ("_bucket", "_sum", "_count")


def dashboard() -> dict[str, Any]:
    told: dict[str, Any] = json.loads((MONITORING / "dashboard.json").read_text())
    return told


def dashboard_expressions() -> list[str]:
    return [each["expr"] for panel in dashboard()["panels"] for each in panel.get("targets", ())]


def rule_expressions() -> list[str]:
    rules = yaml.safe_load((MONITORING / "rules.yml").read_text())
    return [rule["expr"] for group in rules["groups"] for rule in group["rules"]]


def named_in(expressions: list[str]) -> set[str]:
    names = {name for each in expressions for name in _NAME.findall(each)}
    histograms = {name for name, each in DECLARED.items() if each.kind == "histogram"}
    return {
        next((h for h in histograms for s in _SUFFIXES if name == h + s), name) for name in names
    }


def test_promtool_finds_the_rules_and_the_configuration_right() -> None:
    assert "SUCCESS" in promtool("check", "rules", "rules.yml")
    promtool("check", "config", "--syntax-only", "prometheus.yml")


def test_each_alert_fires_when_its_test_says_so_and_not_before() -> None:
    assert "SUCCESS" in promtool("test", "rules", "rules.test.yml")


def test_each_alert_has_a_test_that_lets_it_fire() -> None:
    rules = yaml.safe_load((MONITORING / "rules.yml").read_text())
    tests = yaml.safe_load((MONITORING / "rules.test.yml").read_text())
    fired = {
        each["alertname"]
        for test in tests["tests"]
        for each in test["alert_rule_test"]
        if each["exp_alerts"]
    }
    alerts = {r["alert"] for group in rules["groups"] for r in group["rules"] if "alert" in r}
    assert fired == alerts


def test_promtool_understands_every_query_of_the_dashboard(tmp_path: Path) -> None:
    rules = [
        {"record": f"dashboard:{n}", "expr": each.replace("$__rate_interval", "1m")}
        for n, each in enumerate(dashboard_expressions())
    ]
    as_rules = tmp_path / "rules.yml"
    as_rules.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
    assert f"{len(rules)} rules found" in promtool("check", "rules", as_rules)


def test_rules_and_dashboard_ask_for_metrics_that_there_are() -> None:
    assert named_in(rule_expressions()) <= DECLARED.keys()
    assert named_in(dashboard_expressions()) <= DECLARED.keys()


def test_the_dashboard_shows_every_metric() -> None:
    assert DECLARED.keys() - named_in(dashboard_expressions()) == set()


def test_rules_and_dashboard_name_only_labels_and_values_that_there_are() -> None:
    selector = re.compile(r"(pointsman_[a-z_]+)\{([^}]*)\}")
    for expression in (*rule_expressions(), *dashboard_expressions()):
        for name, inside in selector.findall(expression):
            (family,) = named_in([name])
            for label, how, text in re.findall(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"', inside):
                if label == "instance":
                    continue
                known = DECLARED[family].labels[label]
                asked = text.split("|") if "~" in how else [text]
                assert set(asked) <= set(known), f"{expression}: {label}={text}"


def test_panels_of_the_dashboard_do_not_lie_on_each_other() -> None:
    places = [panel["gridPos"] for panel in dashboard()["panels"]]
    cells = [
        (x, y)
        for at in places
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(cells) == len(set(cells))
    assert len({panel["id"] for panel in dashboard()["panels"]}) == len(places)
