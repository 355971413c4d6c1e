/* How probable are large values of Student's t distribution? Its tail is the regularized incomplete
 * beta function, which is computed as a continued fraction with Lentz's method (W. H. Press et al.,
 * "Numerical Recipes", 3rd edition, section 6.4; NIST Digital Library of Mathematical Functions,
 * 8.17.22). The relative error is below 1e-9, also far out in the tail. */
#include "stats/stats.h"

#include <math.h>

/* Evaluates the continued fraction of the incomplete beta function. It converges within a few
 * dozen steps for x < (a + 1) / (a + b + 2). */
static double fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double value = d;
    for (int step = 1; step <= 500; step++) {
        const double m = step, even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        const double terms[2] = {even, odd};
        double change = 1;
        for (int i = 0; i < 2; i++) {
            d = 1 + terms[i] * d;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = 1 + terms[i] / c;
            c = fabs(c) < tiny ? tiny : c;
            change = c * d;
            value *= change;
        }
        if (fabs(change - 1) < 1e-12)
            break;
    }
    return value;
}

double fth_student_tail(double t, double freedom)
{
    if (t < 0)
        return 1 - fth_student_tail(-t, freedom);
    const double a = freedom / 2, b = 0.5, x = freedom / (freedom + t * t);
    const double rest = t * t / (freedom + t * t); /* 1 - x without cancellation */
    if (rest <= 0)
        return 0.5;
    const double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(rest));
    if (x < (a + 1) / (a + b + 2))
        return front * fraction(a, b, x) / a / 2;
    return (1 - front * fraction(b, a, rest) / b) / 2;
}

double fth_student_quantile(double tail, double freedom)
{
    double low = 0, high = 1;
    if (!(tail < 0.5))
        return 0;
    while (fth_student_tail(high, freedom) > tail && high < 1e12)
        high *= 2;
    for (int i = 0; i < 60 && high - low > 1e-9 * high; i++) {
        const double middle = (low + high) / 2;
        if (fth_student_tail(middle, freedom) > tail)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}
