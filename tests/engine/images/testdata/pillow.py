#!/usr/bin/env python3
"""Writes pillow.json beside it: what Pillow makes of small images, as digests. Needs Pillow; the tests do not.

The images are those of pattern() in tests/engine/images/pattern.h.
"""
import base64
import hashlib
import io
import json
import pathlib

import PIL
from PIL import Image

FILTERS = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4, "hamming": 5}
RESIZES = [  # height, width, channels, height, width
    (37, 53, 3, 16, 16), (37, 53, 3, 37, 20), (37, 53, 3, 12, 53), (37, 53, 3, 90, 101), (37, 53, 1, 16, 40), (8, 8, 1, 224, 3),
    (100, 75, 3, 56, 56), (64, 64, 3, 32, 32), (1, 1, 3, 4, 4), (5, 300, 3, 5, 7), (300, 5, 3, 7, 5), (120, 160, 3, 96, 128),
    (33, 47, 1, 31, 45), (50, 49, 3, 1, 1), (28, 28, 1, 42, 42), (113, 97, 3, 48, 49),
]


def pattern(height, width, channels):
    out = bytearray()
    for y in range(height):
        for x in range(width):
            for c in range(channels):
                value = 7 * x + 13 * y + 29 * c + 5 * (x * y % 31) + ((x * 73856093 ^ y * 19349663 ^ c * 83492791) >> 5 & 63)
                out.append((value if (x // 9 + y // 7) % 2 else 255 - value) & 255)
    return Image.frombytes("RGB" if channels == 3 else "L", (width, height), bytes(out))


def digest(image):
    return hashlib.sha256(image.tobytes()).hexdigest()


def saved(image, kind, **settings):
    out = io.BytesIO()
    image.save(out, kind, **settings)
    return out.getvalue()


def files():
    color, gray, odd = pattern(19, 37, 3), pattern(19, 37, 1), pattern(1, 1, 3)
    yield "jpeg 4:2:0", saved(color, "JPEG")
    yield "jpeg 4:2:2", saved(color, "JPEG", subsampling="4:2:2", quality=90)
    yield "jpeg 4:4:4", saved(color, "JPEG", subsampling="4:4:4", quality=95)
    yield "jpeg progressive", saved(color, "JPEG", progressive=True)
    yield "jpeg with restart markers", saved(color, "JPEG", restart_marker_blocks=2)
    yield "jpeg gray", saved(gray, "JPEG", quality=60)
    yield "jpeg of inks", saved(color.convert("CMYK"), "JPEG")
    yield "jpeg of one pixel", saved(odd, "JPEG")
    yield "png color", saved(color, "PNG")
    yield "png gray", saved(gray, "PNG")
    yield "png palette", saved(color.quantize(16), "PNG")
    yield "png palette, some of it transparent", saved(color.quantize(16), "PNG", transparency=3)
    yield "png of one bit", saved(gray.convert("1"), "PNG")
    alpha = color.copy()
    alpha.putalpha(pattern(19, 37, 1))
    yield "png with alpha", saved(alpha, "PNG")
    yield "png gray with alpha", saved(alpha.convert("LA"), "PNG")


def main():
    resizes = []
    for height, width, channels, *to in RESIZES:
        image = pattern(height, width, channels)
        for name, code in FILTERS.items():
            resized = image.resize((to[1], to[0]), code)
            resizes.append({"from": [height, width, channels], "to": to, "filter": name, "sha256": digest(resized)})
    decodes = []
    for name, content in files():
        image = Image.open(io.BytesIO(content)).convert("RGB")
        decodes.append({"name": name, "file": base64.b64encode(content).decode(), "height": image.height,
                        "width": image.width, "sha256": digest(image)})
    out = {"pillow": PIL.__version__, "resize": resizes, "decode": decodes}
    rows = {key: "[\n  " + ",\n  ".join(json.dumps(row) for row in out[key]) + "\n]" for key in ("resize", "decode")}
    text = f'{{"pillow": "{PIL.__version__}",\n"resize": {rows["resize"]},\n"decode": {rows["decode"]}}}\n'
    pathlib.Path(__file__).with_name("pillow.json").write_text(text)


if __name__ == "__main__":
    main()
