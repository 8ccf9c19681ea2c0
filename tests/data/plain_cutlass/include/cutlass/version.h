// A stand-in for CUTLASS: as much of it as the kernel templates name, so that a kernel compiles in a second.
#pragma once
#define CUTLASS_MAJOR 4
#define CUTLASS_MINOR 2
#define CUTLASS_PATCH 0
