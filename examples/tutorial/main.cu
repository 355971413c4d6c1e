/* A program that launches both kernels of particles.cu. Compile it with
 *
 *     nvcc -arch=sm_75 -cudart shared -lineinfo examples/tutorial/main.cu -o particles
 */
#include "particles.cu"

#include <cstdio>
#include <vector>

int main()
{
    const int n = 1 << 20, block = 256, grid = (n + block - 1) / block;
    std::vector<float> ones(n, 1.0f), result(n);
    std::vector<particle> all(n, particle{1, 1, 1, 1, 1, 1, 1, 1});
    particle *particles;
    float *x, *vx;
    cudaMalloc(&particles, n * sizeof *particles);
    cudaMalloc(&x, n * sizeof *x);
    cudaMalloc(&vx, n * sizeof *vx);
    cudaMemcpy(particles, all.data(), n * sizeof *particles, cudaMemcpyHostToDevice);
    cudaMemcpy(x, ones.data(), n * sizeof *x, cudaMemcpyHostToDevice);
    cudaMemcpy(vx, ones.data(), n * sizeof *vx, cudaMemcpyHostToDevice);
    step_aos<<<grid, block>>>(n, 0.5f, particles);
    step_soa<<<grid, block>>>(n, 0.5f, x, vx);
    cudaMemcpy(result.data(), x, n * sizeof *x, cudaMemcpyDeviceToHost);
    printf("%s, x[0] = %g\n", cudaGetErrorString(cudaGetLastError()), result[0]);
    cudaFree(particles);
    cudaFree(x);
    cudaFree(vx);
    return result[0] != 1.5f;
}
