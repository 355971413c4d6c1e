/* nvcc: -std=c++17 -arch=sm_90 */
// count.cu: small kernels whose memory accesses are known by construction, to find out how the counters of a GPU count them.
//
// usage: count LABELS SECONDS QUESTION...     QUESTION: parts, pairs, dirty, atomics, local, copies, launch, window
//
// Every launch adds one line to the file LABELS: its question, its name and its parameters. Run it under ncu; the n-th launch of
// ncu's output is the n-th line. The program starts no launch after SECONDS, so that ncu can still print what it has counted.
#include "count_atomics.cuh"
#include "count_copies.cuh"
#include "count_launch.cuh"
#include "count_local.cuh"
#include "count_parts.cuh"
#include "count_window.cuh"

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: count LABELS SECONDS QUESTION...\n");
        return 2;
    }
    labels = fopen(argv[1], "w");
    if (!labels) {
        perror(argv[1]);
        return 1;
    }
    stop_at = time(NULL) + atoi(argv[2]);
    check(cudaMalloc(&buffer, BUFFER_BYTES), "memory");
    check(cudaMalloc(&counter, 65536), "memory");
    sink = counter + 512;
    check(cudaMemset(counter, 0, 65536), "memory");
    struct {
        const char *name;
        void (*run)(void);
    } all[] = {{"parts", parts},       {"parts", parts_more},         {"pairs", pairs},          {"dirty", dirty},
               {"atomics", atomics_question}, {"atomics", atomics_more}, {"local", local_question}, {"local", local_more},
               {"copies", copies_question},   {"copies", bulk_question}, {"copies", bulk_more},     {"launch", empty_question},
               {"launch", launch_question},   {"launch", texture_question}, {"window", window_question}};
    for (int k = 3; k < argc; k++)
        for (auto &q : all)
            if (!strcmp(argv[k], q.name)) {
                question = q.name;
                q.run();
            }
    fclose(labels);
    return 0;
}
