/// SWARM_CLONES: compile a function for several instruction sets and choose at load time.
///
/// Files that use it are compiled with -ffp-contract=off and their arithmetic is element by
/// element or in a fixed order, so every clone gives the same bits: replicas on unlike machines
/// stay identical. Off under sanitizers, whose run time is not ready when the choice is made.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define SWARM_CLONES __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define SWARM_CLONES
#endif
