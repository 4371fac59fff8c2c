"""What tools/kubernetes does: manifests.py FOLDER holds every manifest of FOLDER, and the Job inside the provisioner's
settings, to the schemas of the newest Kubernetes that kubernetes-validate knows, then copies with a mistake each, which
must be refused."""
import copy
import sys
from pathlib import Path

import kubernetes_validate
import yaml


def documents(folder):
    """Every manifest with a name for messages, the Job of a ConfigMap's settings among them as it would be created."""
    for file in sorted(folder.glob("*.yaml")):
        for manifest in yaml.safe_load_all(file.read_text()):
            name = f"{file.stem}-{manifest['kind']}-{manifest['metadata']['name']}".lower()
            yield name, manifest
            for key, text in manifest.get("data", {}).items() if manifest["kind"] == "ConfigMap" else ():
                job = yaml.safe_load(text)["kubernetes"]["job"]
                job["metadata"]["generateName"] = "locus-gpu-"
                yield f"{name}-{key}-job", job


def wrong_with(manifest):
    """What the schema says against it; empty: nothing."""
    try:
        kubernetes_validate.validate(manifest, kubernetes_validate.latest_version(), strict=True)
    except kubernetes_validate.ValidationError as error:
        return f"{'.'.join(map(str, error.path))}: {error.message}"
    return ""


def mistakes(manifest):
    """Copies with one mistake each: a field that there is none of in every part, and a text where a number or truth belongs."""
    def parts(value, path=()):
        if isinstance(value, dict):
            yield path
            for key, inner in value.items():
                yield from parts(inner, path + (key,))
        elif isinstance(value, list):
            for i, inner in enumerate(value):
                yield from parts(inner, path + (i,))

    def at(value, path):
        for key in path:
            value = value[key]
        return value

    # Maps whose keys are anybody's.
    free = ("labels", "matchLabels", "annotations", "requests", "limits", "data", "nodeSelector")
    for path in parts(manifest):
        if path and path[-1] in free:
            continue
        wrong = copy.deepcopy(manifest)
        at(wrong, path)["mistyped"] = 1
        yield ".".join(map(str, path)) + ".mistyped", wrong
        for key, value in at(manifest, path).items():
            if isinstance(value, (bool, int)):
                wrong = copy.deepcopy(manifest)
                at(wrong, path)[key] = ["no", "number"]
                yield ".".join(map(str, path + (key,))), wrong


def main():
    found, bad, planted = list(documents(Path(sys.argv[1]))), 0, 0
    for name, manifest in found:
        if complaint := wrong_with(manifest):
            bad += 1
            print(f"kubernetes: {name}: {complaint[:500]}")
    for name, manifest in found:
        for where, wrong in mistakes(manifest):
            planted += 1
            if not wrong_with(wrong):
                bad += 1
                print(f"kubernetes: a mistake in {name} at {where} was not found")
    if bad:
        sys.exit(1)
    version = kubernetes_validate.latest_version()
    print(f"kubernetes: {len(found)} manifests fit the schemas of Kubernetes {version}; "
          f"each of {planted} planted mistakes was found")


main()
