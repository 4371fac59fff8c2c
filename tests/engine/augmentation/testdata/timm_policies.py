"""Writes timm_policies.json: digests of what timm's policies make of a pattern image, given the draws of our streams.

timm asks a generator with a state; here its numbers are those that our named draws have at the same places.
Run with Pillow and the file auto_augment.py of the timm whose numbers are wanted, which is used alone:
python3 timm_policies.py timm/data/auto_augment.py VERSION > timm_policies.json
"""
import hashlib
import importlib.util
import json
import math
import sys

import PIL
from PIL import Image

from pillow_operations import FILL, pattern

SIZE = [24, 32, 3]
SEED, EPOCH = 7, 3
ROWS = {"rand-m9-mstd0.5-inc1": 60, "rand-m9-n3-mstd101": 20, "rand-m12-n4-p0.8-mstd2-mmax15-inc1": 20,
        "original-mstd0.5": 30, "v0": 30}


def philox(counter, key):
    mask = 0xFFFFFFFF
    for _ in range(10):
        left, right = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [(right >> 32) ^ counter[1] ^ key[0], right & mask, (left >> 32) ^ counter[3] ^ key[1], left & mask]
        key = [(key[0] + 0x9E3779B9) & mask, (key[1] + 0xBB67AE85) & mask]
    return counter


def words(name, row):
    """The two words of a draw's block (engine/base/random.h)."""
    text = "locus-random-1:" + "".join(f"{len(field)}:{field}" for field in (str(SEED), "augmentation", name))
    digest = hashlib.sha256(text.encode()).digest()
    key = [int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:8], "little")]
    block = philox([row, 0, EPOCH, 0], key)
    return block[0] | block[1] << 32, block[2] | block[3] << 32


def unit(name, row):
    return (words(name, row)[0] >> 11) * 2.0 ** -53


def normal(name, row):
    first, second = words(name, row)
    return math.sqrt(-2 * math.log(((first >> 11) + 1) * 2.0 ** -53)) * math.cos(2 * math.pi * (second >> 11) * 2.0 ** -53)


class NamedRandom:
    """Stands for the module random: the first number an operation asks for decides whether it is applied."""

    def begin(self, name, row, certain):
        self.name, self.row, self.next = name, row, ".sign" if certain else ".apply"

    def random(self):
        name, self.next = self.name + self.next, ".sign"
        return unit(name, self.row)

    def gauss(self, mean, deviation):
        return mean + deviation * normal(self.name + ".magnitude", self.row)

    def uniform(self, low, high):
        return low + (high - low) * unit(self.name + ".magnitude", self.row)


def applied(module, policy, row, image):
    if isinstance(policy, module.RandAugment):
        count = len(policy.ops)
        operations = [policy.ops[min(int(unit(f"randaugment.{k}.op", row) * count), count - 1)]
                      for k in range(policy.num_layers)]
        name = "randaugment"
    else:
        operations, name = policy.policy[int(unit("autoaugment.policy", row) * len(policy.policy))], "autoaugment"
    for k, operation in enumerate(operations):
        module.random.begin(f"{name}.{k}", row, operation.prob >= 1)
        image = operation(image)
    return image


def main():
    spec = importlib.util.spec_from_file_location("auto_augment", sys.argv[1])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.random = NamedRandom()
    image = pattern(*SIZE)
    rows = []
    for configuration, count in ROWS.items():
        hparams = {"img_mean": FILL, "translate_const": int(min(SIZE[:2]) * 0.45), "interpolation": Image.BICUBIC}
        make = module.rand_augment_transform if configuration.startswith("rand") else module.auto_augment_transform
        policy = make(configuration, hparams)
        for row in range(count):
            out = applied(module, policy, row, image)
            rows.append({"policy": configuration, "row": row, "sha256": hashlib.sha256(out.tobytes()).hexdigest()})
    lines = ",\n".join("  " + json.dumps(one) for one in rows)
    print(f'{{"timm": "{sys.argv[2]}", "pillow": "{PIL.__version__}", "seed": {SEED}, "epoch": {EPOCH}, "from": {SIZE}, '
          f'"fill": {list(FILL)}, "rows": [\n{lines}\n]}}')


main()
