"""What tools/kubernetes does: manifests.py FOLDER IMAGE ... holds every manifest of FOLDER, and the Job inside the
provisioner's settings, to the schemas of the newest Kubernetes that kubernetes-validate knows, and to naming nothing
that none of them makes and no image but these; then copies with a mistake each, which must be refused."""
import copy
import re
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


def named_by(value, field=""):
    """What else a manifest needs, as (kind, name)."""
    if isinstance(value, list):
        for inner in value:
            yield from named_by(inner, field)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key == "claimName":
                yield "PersistentVolumeClaim", inner
            elif key == "serviceAccountName":
                yield "ServiceAccount", inner
            elif key == "image":
                yield "image", re.sub(r"^.*/|[:@].*$", "", inner)
            elif key == "name" and field in ("configMap", "roleRef"):
                yield {"configMap": "ConfigMap", "roleRef": "Role"}[field], inner
            else:
                yield from named_by(inner, key)


def lacking(manifests, images):
    """What one of the manifests names and neither another nor an image is."""
    made = {(manifest["kind"], manifest["metadata"].get("name")) for _, manifest in manifests}
    made |= {("image", name) for name in images}
    return [f"{name} names the {kind} {what}, which is not made" for name, manifest in manifests
            for kind, what in named_by(manifest) if (kind, what) not in made]


def each_is_missed(manifests, images):
    """Without anything that is named, lacking() must say so; the names it did not."""
    needed = {pair for _, manifest in manifests for pair in named_by(manifest)}
    for kind, what in sorted(needed):
        rest = [one for one in manifests if (one[1]["kind"], one[1]["metadata"].get("name")) != (kind, what)]
        if not lacking(rest, [image for image in images if (kind, what) != ("image", image)]):
            yield f"{kind} {what}"


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
    found, images = list(documents(Path(sys.argv[1]))), sys.argv[2:]
    bad = planted = 0
    for complaint in lacking(found, images) + [f"nobody missed the {what}" for what in each_is_missed(found, images)]:
        bad += 1
        print(f"kubernetes: {complaint}")
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
