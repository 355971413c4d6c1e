/* The expected results of the workloads, computed from their mathematical definitions. Scalars have
 * the values of the launch files. */
#include "references.h"

#include <math.h>

#define F(x) ((double)(x##f)) /* a constant rounded to single precision, as in the kernels */

static void conv2d(struct values *v)
{
    static const double weights[3][3] = {
        {F(0.2), F(0.5), F(-0.8)}, {F(-0.3), F(0.6), F(-0.9)}, {F(0.4), F(0.7), F(0.1)}};
    const double *in = values_of(v, "in");
    double *out = values_of(v, "out");
    size_t n = size_of(v, "N");
    for (size_t y = 1; y + 1 < n; y++)
        for (size_t x = 1; x + 1 < n; x++) {
            double sum = 0;
            for (size_t i = 0; i < 9; i++)
                sum += weights[i / 3][i % 3] * in[(y + i / 3 - 1) * n + x + i % 3 - 1];
            out[y * n + x] = sum;
        }
}

/* A matrix, or its transpose if the strides are swapped. */
struct matrix {
    const double *data;
    size_t row, column; /* strides, in elements */
};

/* out[i][j] = factor Σ a[i][k] b[k][j] + keep out[i][j] */
static void multiply(double *out, struct matrix a, struct matrix b, size_t n, double factor,
                     double keep)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t k = 0; k < n; k++)
                sum += a.data[i * a.row + k * a.column] * b.data[k * b.row + j * b.column];
            out[i * n + j] = factor * sum + keep * out[i * n + j];
        }
}

static void two_products(struct values *v)
{
    size_t n = size_of(v, "N");
    double *tmp = values_of(v, "tmp");
    multiply(tmp, (struct matrix){values_of(v, "a"), n, 1},
             (struct matrix){values_of(v, "b"), n, 1}, n, 1.5, 0);
    multiply(values_of(v, "d"), (struct matrix){tmp, n, 1},
             (struct matrix){values_of(v, "c"), n, 1}, n, 1, F(1.2));
}

static void conv3d(struct values *v)
{
    static const struct {
        int z, y, x;
        double weight;
    } taps[] = {{-1, -1, -1, 2}, {-1, -1, 1, 4}, {-1, 1, -1, 5}, {-1, 1, 1, 7},
                {0, -1, 0, -3},  {0, 0, 0, 6},   {0, 1, 0, -9},  {1, -1, -1, 2},
                {1, -1, 1, -8},  {1, 1, -1, 10}, {1, 1, 1, -4}};
    const double *in = values_of(v, "in");
    double *out = values_of(v, "out");
    int n = (int)size_of(v, "N");
    for (int z = 1; z < n - 1; z++)
        for (int y = 1; y < n - 1; y++)
            for (int x = 1; x < n - 1; x++) {
                double sum = 0;
                for (size_t i = 0; i < sizeof taps / sizeof taps[0]; i++)
                    sum += taps[i].weight *
                           in[((z + taps[i].z) * n + y + taps[i].y) * n + x + taps[i].x];
                out[(z * n + y) * n + x] = sum;
            }
}

/* out += A in, or out += Aᵀ in if `transposed`. */
static void apply(double *out, const double *a, const double *in, size_t n, int transposed)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            out[i] += in[k] * (transposed ? a[k * n + i] : a[i * n + k]);
}

static void atax(struct values *v)
{
    size_t n = size_of(v, "N");
    apply(values_of(v, "tmp"), values_of(v, "a"), values_of(v, "x"), n, 0);
    apply(values_of(v, "y"), values_of(v, "a"), values_of(v, "tmp"), n, 1);
}

static void bicg(struct values *v)
{
    size_t n = size_of(v, "N");
    apply(values_of(v, "s"), values_of(v, "a"), values_of(v, "r"), n, 1);
    apply(values_of(v, "q"), values_of(v, "a"), values_of(v, "p"), n, 0);
}

static void mvt(struct values *v)
{
    size_t n = size_of(v, "N");
    apply(values_of(v, "x1"), values_of(v, "a"), values_of(v, "y1"), n, 0);
    apply(values_of(v, "x2"), values_of(v, "a"), values_of(v, "y2"), n, 1);
}

static void gesummv(struct values *v)
{
    size_t n = size_of(v, "N");
    double *tmp = values_of(v, "tmp"), *y = values_of(v, "y");
    apply(tmp, values_of(v, "a"), values_of(v, "x"), n, 0);
    apply(y, values_of(v, "b"), values_of(v, "x"), n, 0);
    for (size_t i = 0; i < n; i++)
        y[i] = 1.5 * tmp[i] + F(1.2) * y[i];
}

/* Subtracts its mean from every column. If `scaled`, also scales the columns to length 1. */
static void centre_columns(double *data, size_t n, int scaled)
{
    for (size_t j = 0; j < n; j++) {
        double mean = 0, squares = 0;
        for (size_t i = 0; i < n; i++)
            mean += data[i * n + j] / (double)n;
        for (size_t i = 0; i < n; i++) {
            data[i * n + j] -= mean;
            squares += data[i * n + j] * data[i * n + j];
        }
        for (size_t i = 0; i < n && scaled; i++)
            data[i * n + j] /= sqrt(squares);
    }
}

/* Correlations of the columns if `scaled`, otherwise their covariances, not divided by N. */
static void column_products(struct values *v, int scaled)
{
    size_t n = size_of(v, "N");
    double *data = values_of(v, "data");
    centre_columns(data, n, scaled);
    multiply(values_of(v, "result"), (struct matrix){data, 1, n}, (struct matrix){data, n, 1}, n, 1,
             0);
}

static void corr(struct values *v)
{
    column_products(v, 1);
}

static void covar(struct values *v)
{
    column_products(v, 0);
}

static void fdtd(struct values *v)
{
    size_t n = size_of(v, "N"), steps = size_of(v, "T");
    double *ex = values_of(v, "ex"), *ey = values_of(v, "ey"), *hz = values_of(v, "hz");
    for (size_t t = 0; t < steps; t++) {
        for (size_t i = 0; i < n * n; i++)
            ey[i] = i < n ? values_of(v, "source")[t] : ey[i] - 0.5 * (hz[i] - hz[i - n]);
        for (size_t y = 0; y < n; y++)
            for (size_t i = y * n + 1; i < (y + 1) * n; i++)
                ex[i] -= 0.5 * (hz[i] - hz[i - 1]);
        for (size_t y = 0; y + 1 < n; y++)
            for (size_t i = y * n; i + 1 < (y + 1) * n; i++)
                hz[i] -= F(0.7) * (ex[i + 1] - ex[i] + ey[i + n] - ey[i]);
    }
}

static void gramschm(struct values *v)
{
    size_t n = size_of(v, "N");
    double *a = values_of(v, "a"), *r = values_of(v, "r"), *q = values_of(v, "q");
    for (size_t k = 0; k < n; k++) {
        double squares = 0;
        for (size_t i = 0; i < n; i++)
            squares += a[i * n + k] * a[i * n + k];
        r[k * n + k] = sqrt(squares);
        for (size_t i = 0; i < n; i++)
            q[i * n + k] = a[i * n + k] / r[k * n + k];
        for (size_t j = k + 1; j < n; j++) {
            for (size_t i = 0; i < n; i++)
                r[k * n + j] += q[i * n + k] * a[i * n + j];
            for (size_t i = 0; i < n; i++)
                a[i * n + j] -= q[i * n + k] * r[k * n + j];
        }
    }
}

static void syr2k(struct values *v)
{
    size_t n = size_of(v, "N");
    const double *a = values_of(v, "a"), *b = values_of(v, "b");
    double *c = values_of(v, "c");
    multiply(c, (struct matrix){a, n, 1}, (struct matrix){b, 1, n}, n, 1.5, F(1.2));
    multiply(c, (struct matrix){b, n, 1}, (struct matrix){a, 1, n}, n, 1.5, 1);
}

static void syrk(struct values *v)
{
    size_t n = size_of(v, "N");
    const double *a = values_of(v, "a");
    multiply(values_of(v, "c"), (struct matrix){a, n, 1}, (struct matrix){a, 1, n}, n, 1.5, F(1.2));
}

static void bp(struct values *v)
{
    size_t n = size_of(v, "N");
    const double *input = values_of(v, "input"), *delta = values_of(v, "delta");
    double *weights = values_of(v, "weights"), *before = values_of(v, "before");
    double *partial = values_of(v, "partial");
    for (size_t i = 0; i < n; i++)
        for (size_t unit = 0; unit < 16; unit++) {
            size_t here = i * 16 + unit;
            partial[i / 16 * 16 + unit] += input[i] * weights[here];
            before[here] = F(0.3) * delta[unit] * input[i] + F(0.3) * before[here];
            weights[here] += before[here];
        }
}

/* Computes the flux of a gas with state `u` (density, momentum, energy) along a normal. Returns the
 * speed of the fastest wave. */
static double gas_flux(const double u[5], const double normal[3], double flux[5])
{
    const double gamma = F(1.4);
    double square = u[1] * u[1] + u[2] * u[2] + u[3] * u[3];
    double pressure = (gamma - 1) * (u[4] - square / (2 * u[0]));
    double speed = (u[1] * normal[0] + u[2] * normal[1] + u[3] * normal[2]) / u[0];
    for (int i = 0; i < 5; i++)
        flux[i] = u[i] * speed + (i == 4 ? pressure * speed : 0) +
                  (i > 0 && i < 4 ? pressure * normal[i - 1] : 0);
    return fabs(speed) + sqrt(gamma * pressure / u[0]);
}

/* Adds the flux through one face of a cell. `neighbour_state`: the state of the neighbour, NULL for
 * a wall. */
static void add_face_flux(const double own_state[5], const double *neighbour_state,
                          const double normal[3], double total[5])
{
    double own_flux[5], neighbour_flux[5];
    double fastest = gas_flux(own_state, normal, own_flux);
    if (!neighbour_state) { /* a wall: only the pressure, which is the flux of the gas at rest */
        const double at_rest[5] = {own_state[0], 0, 0, 0,
                                   own_state[4] -
                                       (own_state[1] * own_state[1] + own_state[2] * own_state[2] +
                                        own_state[3] * own_state[3]) /
                                           (2 * own_state[0])};
        gas_flux(at_rest, normal, own_flux);
        for (int i = 0; i < 5; i++)
            total[i] += own_flux[i];
        return;
    }
    fastest = fmax(fastest, gas_flux(neighbour_state, normal, neighbour_flux));
    for (int i = 0; i < 5; i++)
        total[i] += (own_flux[i] + neighbour_flux[i]) / 2 -
                    fastest * (neighbour_state[i] - own_state[i]) / 2;
}

static void cfd(struct values *v)
{
    size_t n = size_of(v, "N");
    const double *variables = values_of(v, "variables"), *normals = values_of(v, "normals");
    for (size_t cell = 0; cell < n; cell++) {
        double own_state[5], neighbour_state[5], total[5] = {0, 0, 0, 0, 0};
        for (size_t i = 0; i < 5; i++)
            own_state[i] = variables[i * n + cell];
        for (size_t f = 0; f < 4; f++) {
            double neighbour = values_of(v, "neighbours")[f * n + cell];
            double normal[3];
            for (size_t i = 0; i < 3; i++)
                normal[i] = normals[(3 * f + i) * n + cell];
            for (size_t i = 0; i < 5 && neighbour != -1; i++)
                neighbour_state[i] =
                    neighbour < 0 ? values_of(v, "far")[i] : variables[i * n + (size_t)neighbour];
            add_face_flux(own_state, neighbour == -1 ? NULL : neighbour_state, normal, total);
        }
        for (size_t i = 0; i < 5; i++)
            values_of(v, "fluxes")[i * n + cell] = total[i];
    }
}

/* Returns the next or previous index; at a border, the index itself. */
static size_t neighbour_index(size_t at, int step, size_t n)
{
    return (step < 0 && at == 0) || (step > 0 && at == n - 1) ? at : at + (size_t)step;
}

static void heat_step(const double *power, const double *from, double *to, size_t n)
{
    for (size_t y = 0; y < n; y++)
        for (size_t x = 0; x < n; x++) {
            double here = from[y * n + x];
            double down = from[neighbour_index(y, -1, n) * n + x] +
                          from[neighbour_index(y, 1, n) * n + x] - 2 * here;
            double across = from[y * n + neighbour_index(x, -1, n)] +
                            from[y * n + neighbour_index(x, 1, n)] - 2 * here;
            to[y * n + x] = here + 0.5 * (power[y * n + x] + down * F(0.2) + across * F(0.1) +
                                          (80 - here) * F(0.05));
        }
}

static void hspot(struct values *v)
{
    size_t n = size_of(v, "N"), steps = size_of(v, "T");
    for (size_t t = 0; t < steps; t++) {
        heat_step(values_of(v, "power"), values_of(v, "heat"), values_of(v, "next"), n);
        heat_step(values_of(v, "power"), values_of(v, "next"), values_of(v, "heat"), n);
    }
}

static void nw(struct values *v)
{
    size_t n = size_of(v, "N"), columns = n + 1;
    const double *score = values_of(v, "score");
    double *table = values_of(v, "table");
    for (size_t i = 1; i <= n; i++)
        for (size_t j = 1; j <= n; j++) {
            double *here = table + i * columns + j;
            *here = fmax(here[-(ptrdiff_t)columns - 1] + score[i * columns + j],
                         fmax(here[-1], here[-(ptrdiff_t)columns]) - 10);
        }
}

static void srad(struct values *v)
{
    size_t n = size_of(v, "N"), steps = size_of(v, "T");
    double *image = values_of(v, "image"), *sums = values_of(v, "sums");
    double *c = values_of(v, "coefficient");
    double *differences[4] = {values_of(v, "north"), values_of(v, "south"), values_of(v, "west"),
                              values_of(v, "east")};
    for (size_t t = 0; t < steps; t++) {
        for (size_t i = 0; i < n * n; i++) {
            sums[2 * t] += image[i];
            sums[2 * t + 1] += image[i] * image[i];
        }
        double mean = sums[2 * t] / (double)(n * n);
        double q0 = sums[2 * t + 1] / (double)(n * n) / (mean * mean) - 1;
        for (size_t i = 0; i < n * n; i++) {
            size_t y = i / n, x = i % n;
            const size_t around[4] = {
                neighbour_index(y, -1, n) * n + x, neighbour_index(y, 1, n) * n + x,
                y * n + neighbour_index(x, -1, n), y * n + neighbour_index(x, 1, n)};
            double gradient = 0, laplacian = 0;
            for (int d = 0; d < 4; d++) {
                differences[d][i] = image[around[d]] - image[i];
                gradient += pow(differences[d][i] / image[i], 2);
                laplacian += differences[d][i] / image[i];
            }
            double q = (gradient / 2 - pow(laplacian / 4, 2)) / pow(1 + laplacian / 4, 2);
            c[i] = fmin(fmax(1 / (1 + (q - q0) / (q0 * (1 + q0))), 0), 1);
        }
        for (size_t i = 0; i < n * n; i++)
            image[i] += 0.5 / 4 *
                        (c[i] * (differences[0][i] + differences[2][i]) +
                         c[neighbour_index(i / n, 1, n) * n + i % n] * differences[1][i] +
                         c[i / n * n + neighbour_index(i % n, 1, n)] * differences[3][i]);
    }
}

/* Where the kernel allows it, the sizes are not multiples of the block size. Tolerances: a sum of k
 * positive terms in single precision has a relative error of about √k × 6e-8. */
static const struct workload workloads[] = {
    {"2dconv", "N=100", conv2d, {{"out", 1e-6}}},
    {"2mm", "N=70", two_products, {{"tmp", 2e-6}, {"d", 4e-6}}},
    {"3dconv", "N=37", conv3d, {{"out", 1e-6}}},
    {"atax", "N=300", atax, {{"tmp", 5e-6}, {"y", 1e-5}}},
    {"bicg", "N=300", bicg, {{"s", 5e-6}, {"q", 5e-6}}},
    {"bp", "N=1600", bp, {{"partial", 1e-6}, {"weights", 1e-6}, {"before", 1e-6}}},
    {"cfd", "N=3000", cfd, {{"fluxes", 2e-6}}},
    {"corr", "N=50", corr, {{"result", 5e-6}}},
    {"covar", "N=50", covar, {{"result", 5e-6}}},
    {"fdtd", "N=75", fdtd, {{"ex", 1e-6}, {"ey", 1e-6}, {"hz", 1e-6}}},
    {"gesummv", "N=300", gesummv, {{"tmp", 5e-6}, {"y", 5e-6}}},
    {"gramschm", "N=40", gramschm, {{"q", 1e-4}, {"r", 1e-5}}},
    {"hspot", "N=50", hspot, {{"heat", 1e-6}, {"next", 1e-6}}},
    {"mvt", "N=300", mvt, {{"x1", 5e-6}, {"x2", 5e-6}}},
    {"nw", "N=128", nw, {{"table", 0}}},
    {"srad", "N=80", srad, {{"image", 2e-6}, {"coefficient", 5e-6}, {"sums", 1e-12}}},
    {"syr2k", "N=70", syr2k, {{"c", 4e-6}}},
    {"syrk", "N=70", syrk, {{"c", 4e-6}}},
};

const struct workload *workload_at(size_t index)
{
    return index < sizeof workloads / sizeof workloads[0] ? &workloads[index] : NULL;
}
