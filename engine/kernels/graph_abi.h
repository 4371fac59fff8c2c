/* The plugin seam of recorded work: plain C, so that what links no CUDA can use it. The plugin is compiled against
 * the torch that it is used with, and needs it loaded. A graph belongs to one thread at a time.
 */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

enum { LOCUS_GRAPHS_ABI = 1 };

typedef struct locus_graph locus_graph;

typedef int (*locus_graphs_abi_fn)(void);
/* Null: see locus_graph_error. */
typedef locus_graph* (*locus_graph_new_fn)(void);
/* From here to the end, what this process asks of the current stream of the current device is kept and not done, and
 * memory is taken from a pool that the graph keeps. The stream must not be the default one. 0, or not: see
 * locus_graph_error. */
typedef int (*locus_graph_begin_fn)(locus_graph* graph);
/* Also after a failure in between, which it then tells. 0, or not: the graph is of no use any more. */
typedef int (*locus_graph_end_fn)(locus_graph* graph);
/* On the current stream, as often as wanted. 0, or not. */
typedef int (*locus_graph_replay_fn)(locus_graph* graph);
/* Waits for no replay: the caller does. */
typedef void (*locus_graph_free_fn)(locus_graph* graph);
/* Why the last call of this thread that failed did. */
typedef const char* (*locus_graph_error_fn)(void);

#ifdef __cplusplus
}
#endif
