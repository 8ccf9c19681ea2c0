"""Our best convolutions for two layers of ResNet-50 beside cuDNN's, on this machine's first GPU.

    python benchmarks/conv2d.py [--folder DIR] [--manifest benchmarks/resnet_f16.yaml] [--jobs N]
        [--torch-python PYTHON]

Builds the manifest in the folder (a cache that is there already is used), sweeps it, and then times PyTorch's conv2d,
which is cuDNN's, on the same layers with the same protocol: see torch_conv2d.py. --torch-python is an interpreter that
has PyTorch (default: this one). Prints one JSON object on stdout; if cuDNN is not there, it says why.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sweeping import build, profile

HERE = Path(__file__).parent
FIELDS = ("n", "h", "w", "c", "k", "r", "s", "pad_h", "pad_w", "stride_h", "stride_w")
"""What torch_conv2d.py is told of a layer."""
OURS = ("kernel", "parameters", "median_ms", "tflop_per_s", "compared", "wrong")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", default="build-conv2d")
    parser.add_argument("--manifest", default=str(HERE / "resnet_f16.yaml"))
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--torch-python", metavar="PYTHON", default=sys.executable)
    options = parser.parse_args()
    folder = Path(options.folder)
    build_s = build(folder, options.manifest, options.jobs)
    told = profile(folder, "conv2d", "--no-baseline", "--devices", "0")
    peer = cudnn(options.torch_python, [layer(choice) for choice in told["best"]])
    print(json.dumps({"build_s": build_s, "summary": told["summary"], **compared(told["best"], peer)}, indent=1))


def layer(choice: Mapping[str, Any]) -> dict[str, int]:
    return {name: choice["problem"][name] for name in FIELDS}


def cudnn(python: str, layers: Sequence[Mapping[str, int]]) -> dict[str, Any]:
    """What torch_conv2d.py says of these layers; without cuDNN, why there is none as `unavailable`."""
    command = [python, str(HERE / "torch_conv2d.py"), json.dumps(layers)]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    except OSError as error:
        return {"unavailable": f"{python}: {error.strerror}"}
    if done.returncode:
        return {"unavailable": f"{' '.join(command[:2])} ended with exit status {done.returncode}"}
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def compared(best: Sequence[Mapping[str, Any]], peer: Mapping[str, Any]) -> dict[str, Any]:
    """Our winners beside what torch_conv2d.py said."""
    theirs = peer.get("layers", [None] * len(best))
    return {
        "gpu": best[0]["gpu"],
        "driver": best[0]["driver"],
        "cudnn": {name: value for name, value in peer.items() if name != "layers"},
        "layers": [_row(choice, cudnn) for choice, cudnn in zip(best, theirs, strict=True)],
    }


def _row(choice: Mapping[str, Any], cudnn: Mapping[str, Any] | None) -> dict[str, Any]:
    factor = cudnn["median_ms"] / choice["median_ms"] if cudnn and choice["median_ms"] else None
    return {
        "layer": layer(choice),
        **{name: choice[name] for name in OURS},
        "verified": choice["kernel"] is not None,  # Others do not win.
        "ties": len(choice["ties"]),
        "cudnn": cudnn and {**cudnn, "tflop_per_s": factor and choice["tflop_per_s"] / factor},
        "factor": factor,
    }


if __name__ == "__main__":
    main()
