#!/bin/bash
# Runs what needs a GPU, step by step, from the repository's root:
#
#   tests/gpu/run.sh OUT STEP...
#
# OUT/STEP.txt gets what a step prints, each line with the seconds since it began; OUT/STEP.json what it found. The steps:
#   tests       the tests that need a GPU, several at once       timing      those that compare times, one at a time
#   wide        builds and verifies every kernel of the wide sets
#   ways        20 kernels built both ways, and what each takes  cold        200 kernels built both ways, no GPU needed
#   sweep, repeat, exhaustive    benchmarks/baseline.py          conv2d      benchmarks/conv2d.py
# PYTHON: the interpreter [python3]; TORCH_PYTHON: one that has PyTorch [PYTHON]; FOLDER: where to build [a new one], of
# which f16/ and ways/, if they are there, are what another machine has built;
# CUTLASS_CHECKOUT, MEMORY: for `cold`, see benchmarks/build_cost.py; CUBLASLT: the library, where it is not found by itself.
# Exits with 1 if a step failed; the others are run all the same.
set -u
out=$1
shift
python=${PYTHON:-python3}
folder=${FOLDER:-$(mktemp -d)}
mkdir -p "$out"

run_step() {
  local json=$out/$1.json
  case $1 in
    tests) "$python" -m pytest -q -m "gpu and not timing" -n 8 --dist=loadfile --durations=12 tests/gpu ;;
    timing) "$python" -m pytest -q -m timing -n 0 -s --durations=12 tests/gpu ;;
    wide) "$python" tests/gpu/verify_kernels.py --all --jobs 8 --json "$json" -C "$folder/wide" tests/data/wide_*.yaml ;;
    ways)
      "$python" tests/gpu/compare_ways.py --folder "$folder/ways" --rounds 4 --json "$json" \
        $([[ -d $folder/ways ]] && echo --step compare) configs/gemm_sm80.yaml configs/gemm_sm90.yaml
      ;;
    cold)
      "$python" benchmarks/build_cost.py --cutlass-checkout "${CUTLASS_CHECKOUT:?}" --cold 200 --cold-single 80 \
        ${MEMORY:+--memory "$MEMORY"} --json "$json"
      ;;
    sweep | repeat | exhaustive)
      "$python" benchmarks/baseline.py --folder "$folder/f16" ${CUBLASLT:+--cublaslt "$CUBLASLT"} \
        --steps $([[ -d $folder/f16 ]] || echo build) "$1" > "$json"
      ;;
    conv2d)
      "$python" benchmarks/conv2d.py --folder "$folder/conv" --torch-python "${TORCH_PYTHON:-$python}" > "$json"
      ;;
    *) echo "unknown step $1" && false ;;
  esac
}

failed=0
for step; do
  SECONDS=0
  set -o pipefail
  run_step "$step" 2>&1 | while IFS= read -r line; do echo "$SECONDS $line"; done > "$out/$step.txt" || failed=1
  set +o pipefail
  tail -n 2 "$out/$step.txt" | sed "s/^/$step: /"
done
exit $failed
