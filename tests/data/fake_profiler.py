"""Speaks as a profiler does to a sweep, without a GPU: `fake_profiler.py CONFIG FLAG...`.

CONFIG is JSON: `key`, `name`, `us` (the time for m = 1; it grows with m), `faults` (what to do at m: crash, hang,
garbage, nested, orphan, exit, wrong, failed, other_key), `final_faults` (the same, in finals alone), `faster`
(parameter values that take 20 % less), `devices`, and `log`, a file to which each problem's flags are appended.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time


def main() -> None:
    config = json.loads(sys.argv[1])
    if sys.argv[-1] == "--list-devices":
        print(json.dumps([device(ordinal) for ordinal in range(config.get("devices", 1))]))
        return
    ordinal = next(word.partition("=")[2] for word in sys.argv if word.startswith("--device="))
    for line in sys.stdin:
        flags = dict(word[2:].split("=") for word in line.split())
        with open(config["log"], "a") as log:
            log.write(
                json.dumps({"kernel": config["name"], "device": int(ordinal), "pid": os.getpid(), **flags}) + "\n"
            )
        fault = config.get("faults", {}).get(flags["m"])
        if flags.get("profiling-duration") == "200":
            fault = config.get("final_faults", {}).get(flags["m"], fault)
        if fault in FATAL:
            FATAL[fault]()
        print(json.dumps(answer(config, flags, fault)), flush=True)


def device(ordinal: int) -> dict[str, object]:
    versions = {"cuda_runtime_version": "13.0", "cuda_driver_version": "13.0", "driver_version": "580.1"}
    return {"ordinal": ordinal, "name": "Fake GPU", "uuid": f"GPU-{ordinal}", **versions}


def answer(config: dict[str, object], flags: dict[str, str], fault: str | None) -> dict[str, object]:
    size = int(flags["m"])
    faster = config.get("faster", {})
    ms = float(config["us"]) * size * 1e-3  # type: ignore[arg-type]
    for name, value in faster.items():  # type: ignore[attr-defined]
        ms *= 0.8 if flags.get(name) == str(value) else 1
    ms *= random.uniform(0.9995, 1.0005)
    status = {"wrong": "incorrect", "failed": "failed"}.get(fault or "", "success")
    timed = ms if status == "success" else None
    verified = flags.get("verification-enabled") != "false"
    return {
        "key": "another" if fault == "other_key" else config["key"],
        "status": status,
        "reason": None if status == "success" else f"planted: {fault}",
        **{name: int(flags[name]) for name in "mnk"},
        "parameters": {name: int(flags[name]) for name in faster},  # type: ignore[attr-defined]
        "flop": 1000 * size,
        "bytes": 10 * size,
        "samples": 20,
        "discarded_samples": 0,
        "profiling_iterations": 20,
        "relative_stderr": 0.02 if flags.get("relative-stderr") == "2" else 0.001,
        "conditions": {"sm_clock_mhz": 1500, "throttle_reasons": ["sw_power_cap"]},
        "launches_per_sample": 1,
        "warmup_iterations": 5,
        "stopped_by": "relative_stderr",
        "verification": "passed" if verified and status == "success" else "failed" if verified else "skipped",
        "verification_checks": [{"data": "normal", "error": 1e-4, "tolerance": 1e-3}],
        "tflop_per_s": timed and 1000 * size / timed * 1e-9,
        "gbyte_per_s": timed and 10 * size / timed * 1e-6,
        **{f"runtime_{name}_ms": timed for name in ("median", "mean", "min", "max", "p5", "p95")},
        "runtime_stddev_ms": timed and timed * 0.001,
    }


def crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def hang() -> None:
    time.sleep(1000)


def garbage() -> None:
    print("free(): invalid pointer", flush=True)


def nested() -> None:
    print("[" * 100_000, flush=True)


def orphan() -> None:
    if os.fork() == 0:
        os.close(1)
        hang()
    os._exit(7)


def leave() -> None:
    print("error: out of\nerror: luck", file=sys.stderr)
    sys.exit(7)


FATAL = {"crash": crash, "hang": hang, "garbage": garbage, "nested": nested, "orphan": orphan, "exit": leave}

main()
