/// Lets clangd read a kernel's sources as plain C++, which no compiler ever sees: declares what
/// nvcc has built in and hides what is for the device alone.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <device_launch_parameters.h>

// Before a version is defined: its fragments are built into nvcc.
#include <cutlass/arch/wmma.h>

#define __CUDA__ 1
#define __CUDACC_VER_MAJOR__ CUTLASS_NINJA_NVCC_MAJOR
#define __CUDACC_VER_MINOR__ CUTLASS_NINJA_NVCC_MINOR

#undef __grid_constant__
#define __grid_constant__
#undef __launch_bounds__
#define __launch_bounds__(...)

// PTX: `asm(...)` becomes nothing, `asm volatile(...)` becomes `asm("")`.
#define asm(...)
#define volatile(...) ("")

void __syncthreads();
int __syncthreads_and(int predicate);
int __syncthreads_or(int predicate);
void __syncwarp(unsigned mask = 0xffffffff);
void __threadfence();
int __ffs(int value);
int __dp4a(int a, int b, int c);
unsigned __byte_perm(unsigned x, unsigned y, unsigned selector);
__half2 __hfma2(__half2 a, __half2 b, __half2 c);

template <typename T>
T min(T a, T b);
template <typename T>
T max(T a, T b);
template <typename T>
T atomicAdd(T* address, T value);
template <typename T>
T atomicCAS(T* address, T compare, T value);
template <typename T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32);
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32);
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32);
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32);
