/* Passes the output of printf to the caller of a launch. The clusters of a launch run on several
 * host threads and end in any order, but their output is passed on in the order of their indices,
 * and for each cluster in the order of its blocks. The output of a cluster that ends early is kept
 * until all clusters before it have ended. */
#include "ptx/runtime/runtime.h"

#include <pthread.h>
#include <stdlib.h>

struct fth_ptx_output {
    uint64_t cluster;
    struct fth_buffer text;
};

static void pass_on(const struct fth_ptx_launch *launch, struct fth_buffer *text)
{
    if (text->size)
        launch->print(launch->print_user, text->data, text->size);
    fth_buffer_fini(text);
}

/* Adds an output to those that wait, which are sorted by cluster. Clusters start in order, so that
 * most of them belong at the end. */
static bool add(struct fth_ptx_run *run, struct fth_ptx_output added)
{
    void *outputs = run->outputs;
    if (!fth_grow(&outputs, run->output_count, &run->output_capacity, sizeof *run->outputs))
        return false;
    run->outputs = outputs;
    size_t at = run->output_count++;
    for (; at > 0 && run->outputs[at - 1].cluster > added.cluster; at--)
        run->outputs[at] = run->outputs[at - 1];
    run->outputs[at] = added;
    return true;
}

/* Passes on the outputs that need not wait any longer. */
static void pass_on_first(struct fth_ptx_run *run, bool all)
{
    size_t count = 0;
    for (; count < run->output_count && (all || run->outputs[count].cluster == run->next_output);
         count++) {
        pass_on(run->launch, &run->outputs[count].text);
        run->next_output++;
    }
    if (count == 0)
        return;
    run->output_count -= count;
    memmove(run->outputs, run->outputs + count, run->output_count * sizeof *run->outputs);
}

void fth_ptx_print_cluster(const struct fth_ptx_cluster *cluster, uint64_t index)
{
    struct fth_ptx_run *run = cluster->worker->run;
    if (!run->launch->print || !run->can_print)
        return;
    struct fth_ptx_output output = {.cluster = index};
    for (uint32_t rank = 0; rank < cluster->count; rank++) {
        struct fth_buffer *printed = &cluster->blocks[rank].printed;
        fth_buffer_append(&output.text, printed->data, printed->size);
        fth_buffer_fini(printed);
    }
    bool ok = !output.text.failed;
    pthread_mutex_lock(run->lock);
    if (ok && index == run->next_output) {
        pass_on(run->launch, &output.text);
        run->next_output++;
        pass_on_first(run, false);
    } else if (ok) {
        ok = add(run, output);
    }
    pthread_mutex_unlock(run->lock);
    if (!ok) {
        fth_buffer_fini(&output.text);
        fth_ptx_run_no_memory(run);
    }
}

void fth_ptx_print_rest(struct fth_ptx_run *run)
{
    pass_on_first(run, true);
    free(run->outputs);
    run->outputs = NULL;
}
