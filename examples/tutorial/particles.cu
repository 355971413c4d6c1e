/* nvcc: -arch=compute_75 -lineinfo */
// One time step of N particles along x, on two memory layouts.
//
// Each thread reads the position and the velocity of one particle and writes the new position.
// docs/tutorial.md explains why the first kernel moves four times as many bytes as the second.

struct particle {
    float x, y, z, mass;
    float vx, vy, vz, charge;
};

// Array of structs: neighbouring lanes access words that are 32 bytes apart.
extern "C" __global__ void step_aos(int n, float dt, struct particle *p)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i].x += dt * p[i].vx;
}

// Struct of arrays: neighbouring lanes access neighbouring words.
extern "C" __global__ void step_soa(int n, float dt, float *x, const float *vx)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] += dt * vx[i];
}
