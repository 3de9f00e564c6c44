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

/// SWARM_INDEPENDENT: before a loop whose pointers may be equal but whose iterations touch element
/// i alone; g++'s vectorizer then asks no question about aliases. Others find out at run time.
#if defined(__GNUC__) && !defined(__clang__)
#define SWARM_INDEPENDENT _Pragma("GCC ivdep")
#else
#define SWARM_INDEPENDENT
#endif
