"""How long a torch module takes to train and to be tested, on a GPU and on the processor.

    python benchmarks/gpu.py                  # needs a CUDA device; writes docs/richer-models.md
    python benchmarks/gpu.py cuda 200000      # one of the fits: device and rows

Each fit runs in a process of its own and is ended after 110 seconds. The module has 20 inputs, two
hidden layers of 256, and about 71,000 parameters.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from datetime import date

import numpy as np
import torch
from torch import nn

from elfair import ELFClassifier
from pages import write_into

WIDTH, HIDDEN, SIZES, LIMIT = 20, 256, (20_000, 200_000, 1_000_000), 110


def fit(device: str, n: int) -> str:
    """A line of the table."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, WIDTH))
    y = (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0).astype(int)
    torch.manual_seed(0)
    module = nn.Sequential(
        nn.Linear(WIDTH, HIDDEN),
        nn.Tanh(),
        nn.Linear(HIDDEN, HIDDEN),
        nn.Tanh(),
        nn.Linear(HIDDEN, 2),
    ).to(device)
    torch.zeros(1, device=device)  # what starting the device takes does not count
    begin = time.perf_counter()
    model = ELFClassifier("accuracy >= 0.7", scorer=module).fit(X, y)
    seconds = time.perf_counter() - begin
    memory = torch.cuda.max_memory_allocated() / 2**30 if device == "cuda" else 0.0
    used = f"{memory:.1f} GiB" if memory else ""
    return f"| {n:,} | {device} | {seconds:.0f} s | {used} | {model.score(X, y):.3f} |"


def main() -> None:
    """All fits, and the table."""
    if len(sys.argv) > 1:
        print(fit(sys.argv[1], int(sys.argv[2])))
        return
    if not torch.cuda.is_available():
        print("no CUDA device: nothing was measured")
        return
    where = f"{torch.cuda.get_device_name(0)}, {os.cpu_count()} cores"
    lines = [
        "| rows | device | time of a fit | memory of the GPU | accuracy |",
        "|---|---|---|---|---|",
    ]
    for n in SIZES:
        for device in ("cuda", "cpu"):
            command = [sys.executable, __file__, device, str(n)]
            try:
                done = subprocess.run(
                    command, capture_output=True, text=True, timeout=LIMIT, check=True
                )
                lines.append(done.stdout.strip())
            except subprocess.TimeoutExpired:
                lines.append(f"| {n:,} | {device} | more than {LIMIT} s | | |")
    write_into("richer-models.md", "cuda", "\n".join([f"{date.today()}, {where}.\n", *lines]))


if __name__ == "__main__":
    main()
