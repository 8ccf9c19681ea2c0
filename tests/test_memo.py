"""What is remembered of a function is what the function itself would give."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from cutlass_ninja.kernel import ConfigWriter, Kernel
from cutlass_ninja.memo import Memo

VALUES = {"kind": ["a", "b", None], "tile": [[1, 2], [1, 3], ["1", 2]], "stages": [1, True, 1.0, 2], "other": range(5)}
CONFIGS = [dict(zip(VALUES, values)) for values in itertools.product(*VALUES.values())]


def branching(config: Mapping[str, Any]) -> str:
    """Reads other fields for other values, and some only if they are there."""
    if config["kind"] is None:
        return f"none {config.get('extra', 'without')}"
    if config["kind"] == "a" and config["tile"][0] == 1:
        return f"a {config['stages']!r}"
    return f"{config['tile']!r} {'extra' in config}"


def test_a_memo_gives_what_the_function_gives() -> None:
    configs = [{**config, **extra} for config in CONFIGS for extra in ({}, {"extra": None}, {"extra": 1})]
    for given in (configs, configs[::-1], configs[1::2] + configs[::2]):
        memo = Memo(branching)
        assert [memo(config) for config in given] == [branching(config) for config in given]
        assert [memo(config) for config in given] == [branching(config) for config in given]


def test_a_memo_calls_once_for_all_that_agree_in_what_is_read() -> None:
    calls = []

    def threads(config: Mapping[str, Any]) -> Any:
        calls.append(config["tile"])
        return config["tile"]

    memo = Memo(threads)
    for config in CONFIGS:
        memo(config)
    assert calls == VALUES["tile"]


def test_a_function_of_the_whole_and_one_of_nothing_are_remembered_too() -> None:
    whole, nothing = Memo(lambda config: {**config}), Memo(len)
    assert [whole(config) for config in CONFIGS] == CONFIGS
    assert {nothing(config) for config in [*CONFIGS, {}]} == {4, 0}


def test_configurations_are_written_as_each_alone_would_be() -> None:
    writer = ConfigWriter()
    for config in [*CONFIGS, {"kind": "ä\n"}, {}, *CONFIGS[::-7]]:
        assert writer.text(config) == Kernel("toy", "toy", "sm_80", config).config_json
