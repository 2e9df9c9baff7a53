#include "fault_fixture.h"
#include <cuda_runtime.h>
#include <stdint.h>

static __global__ void k_fault(volatile int *nowhere) { *nowhere = 1; }

extern "C" int fixture_fault(void)
{
    k_fault<<<1, 1>>>((volatile int *)(uintptr_t)0xdead0000u);
    return cudaDeviceSynchronize() != cudaSuccess;
}
