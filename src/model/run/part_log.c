/* A log for one part of a run: the progress of the part is a range of the progress of the whole
 * run. Messages and interruptions are passed on. */
#include "model/run/run.h"

static void pass_message(void *user, enum fth_level level, const char *text)
{
    const struct fth_part_log *part = user;
    fth_log_message(part->whole, level, "%s", text);
}

static void pass_progress(void *user, const char *what, double fraction)
{
    const struct fth_part_log *part = user;
    fth_log_progress(part->whole, what, part->from + (part->to - part->from) * fraction);
}

static bool pass_interrupted(void *user)
{
    const struct fth_part_log *part = user;
    return fth_log_interrupted(part->whole);
}

void fth_part_log_init(struct fth_part_log *part, const struct fth_log *whole, double from,
                       double to)
{
    *part = (struct fth_part_log){.log = {.message = pass_message,
                                          .progress = pass_progress,
                                          .interrupted = pass_interrupted,
                                          .user = part},
                                  .whole = whole,
                                  .from = from,
                                  .to = to};
}
