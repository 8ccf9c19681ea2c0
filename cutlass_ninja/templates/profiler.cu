// The whole kernel in one translation unit: its two halves and the profiler's main.
#include "device.cu"
#include "host.cpp"

int main(int argc, char** argv) {
  return cutlass_ninja_profile_{{ operation }}(&CUTLASS_NINJA_KERNEL, argc, argv);
}
