/* nvcc: -arch=compute_75 -lineinfo */

/* The flux through the faces of the cells of an unstructured mesh, for the Euler equations of a
 * compressible gas. A cell has four neighbours; -1 is a wall, on which only the pressure acts, and
 * -2 is the far field. The flux between two cells is the Rusanov flux: the mean of both fluxes
 * minus half the difference of the states times the fastest wave speed. The five variables are
 * separate arrays one after the other, and so are the three components of the four normals. */
#define GAMMA 1.4f

struct state {
    float density, momentum[3], energy;
};

__device__ float pressure_of(const struct state *s)
{
    float square = s->momentum[0] * s->momentum[0] + s->momentum[1] * s->momentum[1] +
                   s->momentum[2] * s->momentum[2];
    return (GAMMA - 1) * (s->energy - 0.5f * square / s->density);
}

__device__ struct state load(const float *variables, int n, int cell)
{
    struct state s;
    s.density = variables[cell];
    for (int i = 0; i < 3; i++)
        s.momentum[i] = variables[(1 + i) * n + cell];
    s.energy = variables[4 * n + cell];
    return s;
}

/* Computes the flux through a face with this normal; returns the fastest wave speed. */
__device__ float flow(const struct state *s, const float *normal, float *flux)
{
    float pressure = pressure_of(s);
    float through =
        (s->momentum[0] * normal[0] + s->momentum[1] * normal[1] + s->momentum[2] * normal[2]) /
        s->density;
    flux[0] = s->density * through;
    for (int i = 0; i < 3; i++)
        flux[1 + i] = s->momentum[i] * through + pressure * normal[i];
    flux[4] = (s->energy + pressure) * through;
    return fabsf(through) + sqrtf(GAMMA * pressure / s->density);
}

extern "C" __global__ void flux(int n, const int *neighbours, const float *normals,
                                const float *variables, const float *far, float *fluxes)
{
    int cell = blockIdx.x * blockDim.x + threadIdx.x;
    if (cell >= n)
        return;
    struct state mine = load(variables, n, cell);
    float total[5] = {0, 0, 0, 0, 0};
    for (int face = 0; face < 4; face++) {
        int neighbour = neighbours[face * n + cell];
        float normal[3], own[5], others[5];
        for (int i = 0; i < 3; i++)
            normal[i] = normals[(3 * face + i) * n + cell];
        if (neighbour == -1) {
            float pressure = pressure_of(&mine);
            for (int i = 0; i < 3; i++)
                total[1 + i] += pressure * normal[i];
            continue;
        }
        struct state theirs = neighbour == -2 ? load(far, 1, 0) : load(variables, n, neighbour);
        float speed = fmaxf(flow(&mine, normal, own), flow(&theirs, normal, others));
        total[0] += 0.5f * (own[0] + others[0] - speed * (theirs.density - mine.density));
        for (int i = 0; i < 3; i++)
            total[1 + i] += 0.5f * (own[1 + i] + others[1 + i] -
                                    speed * (theirs.momentum[i] - mine.momentum[i]));
        total[4] += 0.5f * (own[4] + others[4] - speed * (theirs.energy - mine.energy));
    }
    for (int i = 0; i < 5; i++)
        fluxes[i * n + cell] = total[i];
}
