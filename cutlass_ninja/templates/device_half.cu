#ifdef CUTLASS_NINJA_APART
// What the host half must agree with when it loads this one.
extern "C" __device__ cutlass_ninja::Halves CUTLASS_NINJA_HALVES = {
    sizeof({{ params }}), {{ shared_storage }}, {{ threads }}};
#endif
