"""Writes pillow_operations.json: digests of what Pillow makes of pattern images, by each operation's name here.

Run with the Pillow whose numbers are wanted: python3 pillow_operations.py > pillow_operations.json
"""
import hashlib
import json

import PIL
from PIL import Image, ImageEnhance, ImageFilter, ImageOps

SIZES = [[37, 53, 3], [32, 32, 3], [19, 26, 1]]
FILL = (124, 116, 104)
SAMPLING = {"nearest": Image.NEAREST, "bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC}


def pattern(height, width, channels):
    """The same as tests/engine/images/pattern.h."""
    out = bytearray()
    for y in range(height):
        for x in range(width):
            for c in range(channels):
                noise = (x * 73856093 ^ y * 19349663 ^ c * 83492791) >> 5 & 63
                value = 7 * x + 13 * y + 29 * c + 5 * (x * y % 31) + noise
                out.append((value if (x // 9 + y // 7) % 2 else 255 - value) & 255)
    return Image.frombytes("RGB" if channels == 3 else "L", (width, height), bytes(out))


def mapped(make):
    def apply(image, argument, sampling, fill):
        return image.transform(image.size, Image.AFFINE, make(argument), resample=sampling, fillcolor=fill)
    return apply


GEOMETRY = {
    "shear-x": ([0.27, -0.3, 0.0], mapped(lambda f: (1, f, 0, 0, 1, 0))),
    "shear-y": ([0.27, -0.11], mapped(lambda f: (1, 0, 0, f, 1, 0))),
    "translate-x": ([11.34, -14.4, 5.0], mapped(lambda p: (1, 0, p, 0, 1, 0))),
    "translate-y": ([11.34, -3.0], mapped(lambda p: (1, 0, 0, 0, 1, p))),
    "rotate": ([27.0, -13.7, 0.0, 90.0, 180.0, -90.0, 45.0],
               lambda image, d, sampling, fill: image.rotate(d, resample=sampling, fillcolor=fill)),
}


def solarized_and_added(image, amount):
    table = [min(255, v + int(amount)) if v < 128 else v for v in range(256)]
    return image.point(table * len(image.getbands()))


def with_hue(image, turn):
    if image.mode == "L":
        return image
    h, s, v = image.convert("HSV").split()
    return Image.merge("HSV", (h.point([(i + int(turn * 255)) % 256 for i in range(256)]), s, v)).convert("RGB")


VALUES = {
    "autocontrast": ([0], lambda i, _: ImageOps.autocontrast(i)),
    "brightness": ([0.19, 1.81, 0.0, 1.0, 0.7], lambda i, f: ImageEnhance.Brightness(i).enhance(f)),
    "contrast": ([0.19, 1.81, 0.0, 1.3], lambda i, f: ImageEnhance.Contrast(i).enhance(f)),
    "equalize": ([0], lambda i, _: ImageOps.equalize(i)),
    "flip": ([0], lambda i, _: i.transpose(Image.FLIP_LEFT_RIGHT)),
    "gaussian-blur": ([0.0, 0.1, 0.5, 1.0, 1.37, 2.0, 7.3, 40.0], lambda i, s: i.filter(ImageFilter.GaussianBlur(s))),
    "grayscale": ([0], lambda i, _: i.convert("L").convert(i.mode)),
    "hue": ([-0.06, 0.1, 0.5, -0.5, 0.0], with_hue),
    "invert": ([0], lambda i, _: ImageOps.invert(i)),
    "posterize": ([1, 2, 4, 7, 0], lambda i, b: ImageOps.posterize(i, int(b))),
    "saturation": ([0.19, 1.81, 0.0, 0.6], lambda i, f: ImageEnhance.Color(i).enhance(f)),
    "sharpness": ([0.19, 1.81, 0.0, 1.0, 0.6], lambda i, f: ImageEnhance.Sharpness(i).enhance(f)),
    "solarize": ([26, 128, 256, 0], lambda i, t: ImageOps.solarize(i, int(t))),
    "solarize-add": ([99, 0, 128], solarized_and_added),
}


def row(name, argument, interpolation, size, image):
    return {"operation": name, "argument": argument, "interpolation": interpolation, "from": size,
            "sha256": hashlib.sha256(image.tobytes()).hexdigest()}


def rows():
    for size in SIZES:
        image = pattern(*size)
        for name, (arguments, apply) in VALUES.items():
            for argument in arguments:
                yield row(name, argument, "nearest", size, apply(image, argument))
        fill = FILL if size[2] == 3 else FILL[0]
        for name, (arguments, apply) in GEOMETRY.items():
            for argument in arguments:
                for interpolation, sampling in SAMPLING.items():
                    yield row(name, argument, interpolation, size, apply(image, argument, sampling, fill))


if __name__ == "__main__":
    lines = ",\n".join("  " + json.dumps(one) for one in rows())
    print(f'{{"pillow": "{PIL.__version__}", "fill": {list(FILL)}, "rows": [\n{lines}\n]}}')
