/// Lets a plain C++ compiler read CUTLASS's headers for the host half of a kernel, without nvcc.
/// Included before everything else.
///
/// CUTLASS names device intrinsics in code that is not a template, which must be declared although
/// no host code calls it. Nothing here is defined: a host half that does call one does not link.
#pragma once

#include <cuda_runtime.h>
#include <device_launch_parameters.h>  // threadIdx, blockIdx, blockDim, gridDim, warpSize

void __syncthreads();             // cutlass/semaphore.h, cutlass/barrier.h
int __syncthreads_and(int);       // cutlass/semaphore.h
int __syncthreads_or(int);        // cutlass/barrier.h
void __syncwarp(unsigned = ~0u);  // cutlass/arch/barrier.h

int __dp4a(int, int, int);                           // cutlass/arch/mma_sm61.h, for s8
int __dp4a(unsigned, unsigned, int);                 // and u8
unsigned __byte_perm(unsigned, unsigned, unsigned);  // cutlass/numeric_conversion.h

namespace cutlass::arch {
int LaneId();  // declared for nvcc alone in cutlass/arch/arch.h
int SmId();
}  // namespace cutlass::arch

// With the compiler's version unknown, cutlass/arch/wmma.h leaves nvcuda::wmma alone, which is for
// nvcc; with it known, what follows has TMA descriptors.
#define __CUDACC_VER_MAJOR__ 0
#define __CUDACC_VER_MINOR__ 0
#include "cutlass/arch/wmma.h"
#undef __CUDACC_VER_MAJOR__
#undef __CUDACC_VER_MINOR__
#define __CUDACC_VER_MAJOR__ (CUDART_VERSION / 1000)
#define __CUDACC_VER_MINOR__ (CUDART_VERSION % 1000 / 10)

#include "cutlass/arch/arch.h"  // which CUTLASS 3.5's kernels name, but include for nvcc alone
