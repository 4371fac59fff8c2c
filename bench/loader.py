#!/usr/bin/env python3
"""Images a second of loader_bench beside PyTorch's DataLoader with torchvision and Pillow: same files and transforms.

    loader.py FOLDER [--program build/release/bin/loader_bench] [--images 1000] [--size 224] [--batch 64]
              [--interpolation bicubic|bilinear] [--workers 2] [--rounds 5] [--json FILE]

Both decode, take a random resized crop, flip and normalize, and their main thread goes through whole batches of floats.
Both take their turn in rounds (bench/rounds.py), and a ratio is taken within each; the result is the median with the
quartiles beside it. The workers of the DataLoader are started and warm before the first round, the files read once.
`bench/peers` installs what it needs; where Python has no torchvision it measures loader_bench alone and says so.
"""
import argparse
import json
import os
import pathlib
import subprocess
import time

from rounds import in_turn, quartiles, ratio

try:
    import torch
    import torchvision
    import PIL
    from PIL import Image
    from torchvision import transforms
except ImportError as error:
    torch, missing = None, error

PROGRAM = pathlib.Path(__file__).resolve().parent.parent / "build/release/bin/loader_bench"
KINDS = (".jpeg", ".jpg", ".png")


class Files:
    """The image files of a folder, sorted; shown again where there are fewer than asked for."""

    def __init__(self, folder, images, size, interpolation):
        self.paths = sorted(str(p) for p in pathlib.Path(folder).rglob("*") if p.suffix.lower() in KINDS)
        if not self.paths:
            raise SystemExit(f"loader: {folder} holds no .jpeg, .jpg or .png files")
        self.images = images
        self.transform = transforms.Compose([
            transforms.RandomResizedCrop(size, interpolation=transforms.InterpolationMode(interpolation)),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        ])

    def __len__(self):
        return self.images

    def __getitem__(self, index):
        with open(self.paths[index % len(self.paths)], "rb") as file:
            return self.transform(Image.open(file).convert("RGB"))


def theirs(loader):
    start, images = time.perf_counter(), 0
    for batch in loader:
        images += len(batch)
    return images / (time.perf_counter() - start)


def ours(arguments):
    command = [arguments.program, arguments.folder]
    command += [f"--{name}={getattr(arguments, name)}" for name in ("images", "size", "batch", "interpolation")]
    command += [f"--threads={arguments.workers}"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return json.loads(done.stdout)["images_per_second"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--program", default=str(PROGRAM))
    for name, default in (("images", 1000), ("size", 224), ("batch", 64), ("workers", 2), ("rounds", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--interpolation", choices=("bicubic", "bilinear"), default="bicubic")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    loader = None
    if torch is None:
        print(f"loader: loader_bench alone, this Python cannot load images for comparison ({missing})")
    else:
        torch.set_num_threads(1)
        files = Files(arguments.folder, arguments.images, arguments.size, arguments.interpolation)
        loader = torch.utils.data.DataLoader(files, arguments.batch, num_workers=arguments.workers, drop_last=True,
                                             persistent_workers=True)
    sides = {"locus": lambda: ours(arguments)}
    if loader is not None:
        sides["dataloader"] = lambda: theirs(loader)
    taken = in_turn({"loader": sides}, arguments.rounds)["loader"]
    out = {name: quartiles(values) for name, values in taken.items()}
    if loader is not None:
        out["ratio"] = ratio(taken["locus"], taken["dataloader"])
    for name, row in out.items():
        unit = "" if name == "ratio" else " images a second"
        print(f"{name:10s} {row['median']:8.2f}  [{row['low']:.2f}, {row['high']:.2f}]{unit}")
    if arguments.json:
        versions = {} if torch is None else {"torch": torch.__version__, "torchvision": torchvision.__version__,
                                             "pillow": PIL.__version__}
        with open(arguments.json, "w") as file:
            json.dump({"version": 1, **versions, "settings": vars(arguments), "rows": out}, file)


if __name__ == "__main__":
    main()
