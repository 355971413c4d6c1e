// Where work-groups run, and which units share a cache. OpenCL C 1.2. Work-groups have any number of
// work-items, of which the first one works.

// Stays on the unit for about `rounds` * 1000 dependent additions, odd work-groups for `more` rounds
// longer. Work-group i writes 4 ulongs to `out` + 4 i: the unit at the start, the time at the start
// (FTH_TIME; 0 without it), the unit at the end, and a value that depends on the additions. `occupied`
// only occupies local memory.
kernel void fth_place(uint rounds, uint more, local uint *occupied, global ulong *out)
{
    const uint group = get_group_id(0);
    if (get_local_id(0))
        return;
    global ulong *record = out + 4 * (ulong)group;
    uint value = (uint)record[3];
    const uint unit = FTH_UNIT(), addend = value | 1u;
    ulong time = 0;
    FTH_TIME(time);
    for (uint i = rounds + (group & 1 ? more : 0); i; i--)
        FTH_ADD_1000(value, addend);
    occupied[0] = value;
    record[0] = unit;
    record[1] = time;
    record[2] = FTH_UNIT();
    record[3] = occupied[0];
}

// Words of the state of fth_share. [0], [1]: whether a work-group has taken the first and the second
// role. [2]: whose turn it is. [3]: 1 if a work-group has moved to another unit. [4]: a result of the
// loads, so that the compiler keeps them.
#define FTH_ABORTED 0xffffffffu
#define FTH_LOOK(word) atomic_add(word, 0u)

// Waits until the turn is `wanted`. Returns whether it is: not if the other work-group gave up, or
// after `patience` attempts.
static bool fth_await(volatile global uint *state, uint wanted, uint patience)
{
    for (uint i = 0; i < patience; i++) {
        const uint turn = FTH_LOOK(&state[2]);
        if (turn == wanted)
            return true;
        if (turn == FTH_ABORTED)
            return false;
    }
    atomic_xchg(&state[2], FTH_ABORTED);
    return false;
}

static ulong fth_share_pass(uint path, global const char *memory, constant char *constants, uint first,
                            uint count, uint fth_zero, uint *last)
{
    return path == 4 ? fth_pass_constant(constants, first, count, fth_zero, last)
                     : fth_pass_data(memory, FTH_ORIGIN(memory) + first, count, fth_zero, last);
}

// The work-group on the unit words[0] walks a chain (its own), lets the one on the unit words[1] walk
// another chain, and times its own again: one sample per round, in ticks. If both caches are the same,
// the other chain has evicted the own one. If the two units are the same, one work-group does both.
//   words  [0] first unit   [1] second unit   [2] path: 0 data, 4 constant   [3] 0
//          [4] offset of the first element of the own chain    [5] its number of elements
//          [6], [7] the same of the other chain    [8] rounds    [9] attempts to find the other role taken
//          [10] attempts to wait for a turn
// All work-groups stay until both roles are taken, so that the next ones are placed on other units.
kernel void fth_share(global const uint *words, global char *memory, constant char *constants,
                      local uint *occupied, volatile global uint *state, global ulong *samples)
{
    const uint first = words[0], second = words[1], fth_zero = words[3], rounds = words[8];
    uint last = 0, role = 2, unit = 0;
    bool both = false;
    if (get_local_id(0))
        return;
    // An operating system moves the threads of a CPU, so the unit is read again and again.
    for (uint i = 0; i < words[9] && !both; i++) {
        if (role == 2) {
            unit = FTH_UNIT();
            if (unit == first && atomic_cmpxchg(&state[0], 0u, 1u) == 0)
                role = 0;
            else if (unit == second && first != second && atomic_cmpxchg(&state[1], 0u, 1u) == 0)
                role = 1;
        }
        both = FTH_LOOK(&state[0]) && (first == second || FTH_LOOK(&state[1]));
    }
    occupied[0] = unit;
    if (role == 0 && !both)
        atomic_xchg(&state[2], FTH_ABORTED);
    if (role == 2 || (role == 0 && !both))
        return;
    // A round has three phases: the own chain, the other chain, and the own chain again.
    for (uint i = 0; i < 3 * rounds; i++) {
        const uint round = i / 3, phase = i % 3, others = phase == 1;
        if (role == 1 && !others)
            continue;
        if (others && first != second) {
            if (role == 0)
                atomic_xchg(&state[2], 2 * round + 1);
            if (!fth_await(state, 2 * round + (role == 0 ? 2 : 1), words[10]))
                return;
            if (role == 0)
                continue;
        }
        const ulong ticks = fth_share_pass(words[2], memory, constants, words[others ? 6 : 4],
                                           words[others ? 7 : 5], fth_zero, &last);
        if (phase == 2)
            samples[round] = ticks;
        if (FTH_UNIT() != unit)
            atomic_xchg(&state[3], 1u);
        if (role == 1)
            atomic_xchg(&state[2], 2 * round + 2);
    }
    if (role == 0 && first == second)
        atomic_xchg(&state[2], 2 * rounds);
    atomic_xchg(&state[4], last);
}
