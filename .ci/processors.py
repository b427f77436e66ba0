#!/usr/bin/env python3
"""Run the recorded cases and a cross-section of the engine as other processors would.

OpenBLAS takes its kernels from OPENBLAS_CORETYPE, and NumPy leaves out the instructions that
NPY_DISABLE_CPU_FEATURES names; newer kernels than the processor has are skipped.

    .venv/bin/python .ci/processors.py
"""

import os
import subprocess
import sys
import time
from pathlib import Path

from numpy._core._multiarray_umath import __cpu_dispatch__ as dispatched
from numpy._core._multiarray_umath import __cpu_features__ as has

FILES = [f"tests/test_{name}.py" for name in ("recorded", "reference_values", "engine", "kernels", "bundle")]

NEEDS = {
    "Prescott": "SSE3",
    "Nehalem": "SSE42",
    "Sandybridge": "AVX",
    "Haswell": "AVX2",
    "SkylakeX": "AVX512_SKX",
}
"""Core types, and what a processor needs to run their kernels."""

EXTRA = [name for name in dispatched if has[name]]
"""What NumPy uses beyond its baseline here, by the names of the installed version; it can do without."""

AVX512 = [name for name in EXTRA if "512" in name or name == "X86_V4"]

BLAS = "import numpy, threadpoolctl as t; print(*{i.get('architecture') for i in t.threadpool_info()})"


def main() -> int:
    """Run all; the exit code says whether any failed."""
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    runs = [(core, {}) for core in NEEDS]
    runs += [
        ("Haswell", {"NPY_DISABLE_CPU_FEATURES": " ".join(AVX512)}),
        (
            "Nehalem",
            {"NPY_DISABLE_CPU_FEATURES": " ".join(EXTRA), "XLA_FLAGS": "--xla_cpu_max_isa=SSE4_2"},
        ),
    ]
    failed = 0
    for core, more in runs:
        name = " ".join([core, *(f"{key}={value!r}" for key, value in more.items())])
        if not has.get(NEEDS[core]):
            print(f"skipped  {name}: this processor lacks {NEEDS[core]}", flush=True)
            continue
        environment = os.environ | one | {"OPENBLAS_CORETYPE": core} | more
        asked = [sys.executable, "-c", BLAS]
        kernels = subprocess.run(asked, env=environment, capture_output=True, text=True).stdout.strip()
        start = time.perf_counter()
        command = [sys.executable, "-m", "pytest", "-q", "-n", os.environ.get("WORKERS", "2"), *FILES]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        word = "failed" if done.returncode else "passed"
        seconds = time.perf_counter() - start
        print(f"{word}   {name}: kernels of {kernels}, {seconds:.0f} s", flush=True)
        if done.returncode:
            failed += 1
            print(done.stdout[-6000:], done.stderr[-2000:], sep="\n", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    os.chdir(Path(__file__).resolve().parents[1])
    sys.exit(main())
