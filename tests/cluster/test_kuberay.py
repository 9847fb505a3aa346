"""The manifests for Kubernetes: every field is one that the schema knows, and what they run is there to be run."""

from __future__ import annotations

import copy
import json
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import typer
import yaml

from viewfinder.cli import make_app
from viewfinder.server.settings import ServerSettings

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "deploy" / "kuberay"
SCHEMA = json.loads((FOLDER / "schema.json").read_text(encoding="utf-8"))
MANIFESTS = [
    (file.stem, part) for file in sorted(FOLDER.glob("*.yaml")) for part in yaml.safe_load_all(file.read_text("utf-8"))
]
CHECK = jsonschema.Draft202012Validator(SCHEMA)


def containers(manifest: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All containers of a manifest, wherever their pods stand in it."""
    for name, value in manifest.items():
        if name == "containers":
            yield from value
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, dict) and name != "containers":
                yield from containers(inner)


def test_there_is_a_cluster_a_server_with_its_service_and_a_job() -> None:
    assert [(name, it["kind"]) for name, it in MANIFESTS] == [
        ("add", "Job"), ("cluster", "RayCluster"), ("serve", "Deployment"), ("serve", "Service"),
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "manifest"), MANIFESTS, ids=[f"{name}-{it['kind']}" for name, it in MANIFESTS])
def test_a_manifest_has_the_fields_of_its_schema(name: str, manifest: dict[str, Any]) -> None:
    CHECK.validate(manifest)


def test_a_misspelt_a_missing_and_a_wrong_field_are_refused() -> None:
    [cluster] = [it for _, it in MANIFESTS if it["kind"] == "RayCluster"]
    CHECK.validate(cluster)
    spoils: list[Callable[[dict[str, Any]], object]] = [
        lambda it: it["spec"].update(workerGroupSpec=it["spec"].pop("workerGroupSpecs")),
        lambda it: it["spec"].pop("headGroupSpec"),
        lambda it: it["spec"]["headGroupSpec"]["rayStartParams"].update({"num-cpus": 0}),
        lambda it: it["spec"]["workerGroupSpecs"][0].update(replicas="4"),
        lambda it: it.update(apiVersion="ray.io/v1alpha1"),
    ]
    for spoil in spoils:
        spoilt = copy.deepcopy(cluster)
        spoil(spoilt)
        assert not CHECK.is_valid(spoilt)


def test_what_the_manifests_run_is_a_command_that_the_program_has() -> None:
    verbs = typer.main.get_command(make_app())
    assert isinstance(verbs, typer.core.TyperGroup)
    told = [container["args"][0] for _, it in MANIFESTS for container in containers(it) if "args" in container]
    run = [shlex.split(line.partition("exec viewfinder ")[2]) for line in told]
    assert [words[0] for words in run] == ["add", "serve"]
    for verb, *words in run:
        given = verbs.commands[verb].make_context(verb, list(words)).params
        assert given["ray"] == "auto"


def test_what_the_manifests_set_is_a_setting_and_they_agree_with_one_another() -> None:
    found = [container for _, it in MANIFESTS for container in containers(it)]
    names = {each["name"] for container in found for each in container.get("env", ())}
    settings = {name for name in names if name.startswith("VIEWFINDER_")} - {"VIEWFINDER_LIBRARY"}
    assert {name.removeprefix("VIEWFINDER_").lower() for name in settings} <= set(ServerSettings.model_fields)
    assert {container["image"] for container in found} == {"viewfinder-ray"}
    [cluster] = [it for _, it in MANIFESTS if it["kind"] == "RayCluster"]
    secrets = {
        each["valueFrom"]["secretKeyRef"]["name"]
        for container in found
        for each in container.get("env", ())
        if "valueFrom" in each
    }
    assert secrets == {cluster["metadata"]["name"]}
    heads = {
        part for container in found for part in re.findall(r"--address=(\S+)-head-svc", str(container.get("args")))
    }
    assert heads == {cluster["metadata"]["name"]}
    pinned = re.findall(r"^ray==(\S+)", (ROOT / "requirements.txt").read_text("utf-8"), re.MULTILINE)
    assert [cluster["spec"]["rayVersion"]] == pinned
