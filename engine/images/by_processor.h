// Loops on integers that processors with wider vectors run faster.
#pragma once

// Before a function: the linker picks by processor. The arithmetic must be on integers, so that the results are the same.
#if defined(__x86_64__) && defined(__linux__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define LOCUS_BY_PROCESSOR __attribute__((target_clones("avx2", "default")))
#else
#define LOCUS_BY_PROCESSOR
#endif
