"""PyTorch's conv2d, which is cuDNN's, timed as our profilers time a kernel. Needs PyTorch and nothing else.

    python torch_conv2d.py '[{"n": 32, "h": 56, "w": 56, "c": 64, "k": 64, "r": 3, "s": 3, ...}]'

f16, channels last, the fastest of all of cuDNN's algorithms (cudnn.benchmark). Operands are normally distributed
numbers; copies of them that are more than twice the L2 in all, with their outputs, take turns. A sample is 0.5 ms of
launches or more, captured in a CUDA graph, between two events; the samples that fit into 4 ms are queued in one go, and
then the GPU rests for 10 ms. Prints one JSON object: versions, and for each layer the median of a launch in ms and by
how much the result differs from that in f32; or `unavailable` with why.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
import time
from typing import Any

SAMPLE_MS = 0.5
BURST_MS = 4.0
REST_S = 0.010
WARM_UP_BURSTS = 12
SAMPLES = 60
GATE_CYCLES = 1_000_000
"""Half a millisecond and more in which a burst is queued."""


def main() -> None:
    print(json.dumps(_told(json.loads(sys.argv[1]))))


def copies(operand_bytes: int, l2_bytes: int) -> int:
    """How many copies of a layer's operands are more than twice the L2."""
    return 2 * l2_bytes // operand_bytes + 1


def launches(launch_ms: float, copies: int) -> int:
    """How many launches make a sample: all copies have had as many turns at its end."""
    return copies * math.ceil(SAMPLE_MS / (launch_ms * copies))


def samples(sample_ms: float) -> int:
    """How many samples make a burst."""
    return max(1, int(BURST_MS / sample_ms))


def operand_bytes(layer: dict[str, int]) -> int:
    """Of activations, filters and outputs in f16."""
    inputs = layer["n"] * layer["h"] * layer["w"] * layer["c"] + layer["k"] * layer["r"] * layer["s"] * layer["c"]
    heights = (layer["h"] + 2 * layer["pad_h"] - layer["r"]) // layer["stride_h"] + 1
    widths = (layer["w"] + 2 * layer["pad_w"] - layer["s"]) // layer["stride_w"] + 1
    return 2 * (inputs + layer["n"] * heights * widths * layer["k"])


def _told(layers: list[dict[str, int]]) -> dict[str, Any]:
    try:
        import torch
    except ImportError as error:
        return {"unavailable": f"{sys.executable}: {error}"}
    if not (torch.cuda.is_available() and torch.backends.cudnn.is_available()):
        return {"unavailable": f"PyTorch {torch.__version__} finds no GPU or no cuDNN"}
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.benchmark_limit = 0  # All algorithms.
    torch.backends.cudnn.allow_tf32 = False  # For the result in f32.
    return {
        "version": torch.backends.cudnn.version(),
        "torch": torch.__version__,
        "gpu": torch.cuda.get_device_name(0),
        "layers": [_measured(torch, layer) for layer in layers],
    }


def _measured(torch: Any, layer: dict[str, int]) -> dict[str, Any]:
    turns = copies(operand_bytes(layer), torch.cuda.get_device_properties(0).L2_cache_size)
    inputs = [_normal(torch, layer["n"], layer["c"], layer["h"], layer["w"]) for _ in range(turns)]
    filters = [_normal(torch, layer["k"], layer["c"], layer["r"], layer["s"]) for _ in range(turns)]
    outputs: list[Any] = [None] * turns

    def convolve(x: Any, w: Any) -> Any:
        strides, padding = (layer["stride_h"], layer["stride_w"]), (layer["pad_h"], layer["pad_w"])
        return torch.nn.functional.conv2d(x, w, stride=strides, padding=padding)

    def captured(count: int) -> Any:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for index in range(count):
                # An output lives until its turn comes again, so that outputs take turns in memory, too.
                outputs[index % turns] = convolve(inputs[index % turns], filters[index % turns])
        return graph

    first = convolve(inputs[0], filters[0])  # Chooses the algorithm.
    exact = convolve(inputs[0][:2].float(), filters[0].float())
    error = (torch.linalg.vector_norm(first[:2].float() - exact) / torch.linalg.vector_norm(exact)).item()
    torch.cuda.synchronize()

    round_of_turns = captured(turns)
    for _ in range(WARM_UP_BURSTS):
        launch_ms = _burst(torch, round_of_turns, 1)[0] / turns
    count = launches(launch_ms, turns)
    graph = captured(count)
    times: list[float] = []
    _burst(torch, graph, 1)
    while len(times) < SAMPLES:
        times += [ms / count for ms in _burst(torch, graph, samples(count * launch_ms))]
    return {
        "median_ms": statistics.median(times),
        "min_ms": min(times),
        "max_ms": max(times),
        "samples": len(times),
        "launches_per_sample": count,
        "copies": turns,
        "relative_error": error,
        "plausible": first.dtype == torch.float16 and error < 1e-2,
    }


def _burst(torch: Any, graph: Any, count: int) -> list[float]:
    """The times in ms of so many replays in a row."""
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(count)]
    torch.cuda._sleep(GATE_CYCLES)
    for start, stop in events:
        start.record()
        graph.replay()
        stop.record()
    torch.cuda.synchronize()
    time.sleep(REST_S)
    return [start.elapsed_time(stop) for start, stop in events]


def _normal(torch: Any, *sizes: int) -> Any:
    made = torch.randn(*sizes, device="cuda", dtype=torch.float16)
    return made.to(memory_format=torch.channels_last)


if __name__ == "__main__":
    main()
