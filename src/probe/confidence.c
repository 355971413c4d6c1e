/* The confidence of a figure: the probability that it is right, given how many repeats of its
 * measurement agree.
 *
 * Repeats are not independent of each other: what misleads one of them, such as a policy that the
 * method does not expect, often misleads all. Therefore the probability is not computed from a
 * model of the repeats, but fitted to the outcome: many random GPUs are simulated and measured, and
 * each figure is compared with the truth (tests/closure, scripts/calibrate). The log-odds of a
 * right figure are a linear function of the evidence (Platt 1999). docs/methods.md, "Confidence",
 * has the reliability of the result. */
#include "probe/probe.h"

#include <math.h>

/* The terms of the log-odds that a figure is right, and the maximum confidence that the number of
 * figures supports. Fitted by 'scripts/calibrate fit' to 4,239 figures of 202 measurements of
 * simulated GPUs; 30 figures are wrong. */
static const double agreed_log_odds = 7.79;        /* all repeats agree */
static const double disagreement_log_odds = 10.33; /* times the fraction of repeats that disagree */
static const double few_repeats_log_odds = 5.53;   /* divided by the number of repeats */
static const double doubt_log_odds = 5.46;         /* there is a doubt about the method */
static const double interrupted_log_odds = 1.27;   /* another program interrupted requests */
static const double max_confidence = 0.9993;

/* Repeats that the resamples of one bootstrap count as. Chosen: as many as for most figures. */
static const double resampled_repeats = 10;

struct fth_evidence fth_resampled(size_t same_count)
{
    return (struct fth_evidence){.repeats = resampled_repeats,
                                 .agree =
                                     resampled_repeats * (double)same_count / FTH_BOOTSTRAP_DRAWS,
                                 .resampled = true};
}

double fth_evidence_share(struct fth_evidence evidence)
{
    return evidence.repeats > 0 ? evidence.agree / evidence.repeats : 0;
}

struct fth_evidence fth_weaker_evidence(struct fth_evidence a, struct fth_evidence b)
{
    return fth_confidence(b) < fth_confidence(a) ? b : a;
}

/* Returns the probability whose log-odds differ from those of `probability` by `difference`. */
static double shift_log_odds(double probability, double difference)
{
    return 1 / (1 + (1 / probability - 1) * exp(-difference));
}

double fth_confidence(struct fth_evidence evidence)
{
    if (!(evidence.repeats > 0))
        return NAN;
    /* The resamples of a bootstrap estimate the probability of the decision itself. */
    const double share = fth_evidence_share(evidence);
    const double disagree = evidence.resampled ? 0 : 1 - share;
    const double log_odds = agreed_log_odds - disagreement_log_odds * disagree -
                            few_repeats_log_odds / evidence.repeats -
                            (evidence.doubt ? doubt_log_odds : 0);
    return fmin(1 / (1 + exp(-log_odds)), max_confidence) * (evidence.resampled ? share : 1);
}

double fth_interrupted_confidence(double confidence)
{
    return confidence > 0 ? shift_log_odds(confidence, -interrupted_log_odds) : confidence;
}
