"""The matrix products of a training step and nothing else: the least time that the matrix library of both sides needs
for a step, whatever is done about the rest. The patches' convolution and the products within attention are left out.
"""
import torch
from torch.utils._python_dispatch import TorchDispatchMode

# Each with the place of its first factor among its arguments.
PRODUCTS = {torch.ops.aten.mm.default: 0, torch.ops.aten.addmm.default: 1}


class Products(TorchDispatchMode):
    """Records those of `step`, which makes one eagerly; step() makes them again, of the same tensors into the same.

    flops: of one step, a multiplication and an addition each. bytes: of factors and results, each read or written once.
    """

    def __init__(self, step):
        super().__init__()
        self.found, self.flops, self.bytes = [], 0, 0
        with self:
            step()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        if function in PRODUCTS:
            first, second = (tensor.detach() for tensor in args[PRODUCTS[function] :][:2])
            self.found.append((first, second, out.detach()))
            self.flops += 2 * out.numel() * first.shape[-1]
            self.bytes += sum(tensor.numel() * tensor.element_size() for tensor in (first, second, out))
        return out

    def step(self):
        with torch.no_grad():
            for first, second, out in self.found:
                torch.mm(first, second, out=out)
