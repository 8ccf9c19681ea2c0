"""The name of a CI cache: a digest of all that a build would put into it."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable
from dataclasses import dataclass

from .kernel import Kernel
from .keys import Keyer
from .toolchain import Toolchain


@dataclass(frozen=True, slots=True)
class CacheKey:
    """The two parts of a cache's name."""

    prefix: str
    """What caches made with the same tools begin with."""
    content: str


def cache_key(kernels: Iterable[Kernel], tools: Toolchain) -> CacheKey:
    """The name of the cache that holds these kernels and their runtime libraries."""
    keyer = Keyer(tools)
    keys = set()
    common = {}
    for kernel in kernels:
        runtime = keyer.runtime(kernel.arch)
        keys |= {keyer.kernel(kernel).key, runtime.key}
        common = {name: runtime.ingredients[name] for name in ("format", "environment")}
    nvcc = tools.identity["nvcc"].split()[0]
    common_digest = _digest([common, dict(tools.identity)])[:8]
    prefix = f"cutlass-ninja-{platform.machine()}-nvcc{nvcc}-cutlass{tools.identity['cutlass']}-{common_digest}-"
    return CacheKey(prefix, _digest(sorted(keys))[:20])


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
