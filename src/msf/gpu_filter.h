/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* A running forest on the GPU, against which edges are filtered that come chunk by chunk, each
 * once. Edges are columns of 32 bits: first the forest, then the batch of newer edges that it does
 * not rule out. Where chunks come from both ends of what there is, those from the back are kept at
 * the columns' other end, which grows downwards: so places are in the order of edges again. The
 * forest's Boruvka hierarchy stands beside it: node k of a level is a component, its parent the
 * component that it merged into, by the edge that it chose. The heaviest edge on the path of the
 * forest between two vertices is the heaviest on their climbs to the node where they meet (V. King,
 * "A simpler minimum spanning tree verification algorithm", 1997), so an edge is ruled out if it
 * comes after all of these. */
#ifndef DZO_MSF_GPU_FILTER_H
#define DZO_MSF_GPU_FILTER_H

#include "device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { MSF_U, MSF_V, MSF_ID, MSF_KEY, MSF_KEY_HIGH, MSF_ID_HIGH, MSF_COLUMNS };
enum { MSF_TILE = 256, MSF_EACH = 4 }; /* edges that a block merges; times those that it filters */

#define MSF_NODE_NONE UINT32_MAX          /* the parent of a root */
#define MSF_NODE_FLAG (UINT32_C(1) << 31) /* set in every other parent */

/* Vertices at most, so that nodes fit below the flag, and edges in memory at most. */
#define MSF_FILTER_VERTICES_MAX ((UINT64_C(1) << 30) - 256)
#define MSF_FILTER_EDGES_MAX ((UINT64_C(1) << 31) - 256)

/* `value` of a root: the number of its tree; else the edge that leads to the parent: its key where
 * keys are narrow and edges ordered, otherwise its place in the forest. */
typedef struct msf_node {
  uint32_t parent, value;
} msf_node;

typedef struct msf_filter_shape {
  dzo_unit *unit;       /* whose memory it is */
  uint64_t room;        /* vertices, at most */
  uint64_t capacity;    /* edges of forest and batch, at most */
  uint64_t chunk_edges; /* edges of a chunk, at most */
  bool wide;            /* 64-bit keys, else 32 */
  bool ordered;  /* edges of equal key come in the total order: of two, the first goes before */
  bool ranked;   /* edges may have to be ranked before they are merged, though `ordered` */
  bool named;    /* vertices have names, which break ties; else their numbers do */
  bool long_ids; /* 64 bits identify an edge, else 32 */
  uint64_t flip; /* key ^ flip ascends in the order wanted */
} msf_filter_shape;

/* Edges in the columns, at their beginning and their end; which of the two words counts alternates
 * from chunk to chunk of that side. */
typedef struct msf_filter_tally {
  uint64_t front[2], back[2];
} msf_filter_tally;

typedef struct msf_filter_control {
  msf_filter_tally tally;
  uint32_t tickets[2]; /* tiles of a chunk that blocks have taken; of odd and even chunks */
  uint32_t made;       /* nodes above level 0 */
  uint32_t components; /* trees */
  uint32_t numbered;   /* edges of the forest whose ids are edge numbers: the first ones */
  uint32_t edges;      /* of the forest; */
  uint32_t front;      /* and of them, those at the front */
  uint32_t live[2];    /* rounds in turn: is there an edge between components? */
  uint32_t pending[4]; /* passes in turn: is there a node whose new component is not known? */
  uint64_t sums[2];    /* of the low and the high 32 bits of all keys */
} msf_filter_control;

/* All pointers are device memory. */
typedef struct msf_filter {
  dzo_unit *unit;
  msf_filter_shape shape;
  uint64_t vertices;
  uint64_t numbered; /* edges whose ids are edge numbers by now: the first ones, of the forest */
  bool loose;        /* from now on ordered edges do not come in order among equal keys */
  bool both_ends;    /* chunks come from the back, too; for 32-bit keys in order */
  uint32_t *columns[MSF_COLUMNS]; /* [capacity] each, or NULL */
  msf_node *nodes;                /* [2 * room + 128] */
  uint64_t *names;                /* [room] or NULL */
  uint64_t *first, *second;       /* for merging: [capacity]; no `second` where nothing is ranked */
  uint32_t *masks;                /* [chunk_edges / 32] which edges of a chunk are kept */
  uint32_t *taken;                /* [capacity / 32] a bit for each edge of the new forest */
  uint32_t *tiles;                /* [capacity / MSF_TILE] edges of the new forest in each tile */
  uint64_t *kept; /* [chunk_edges / MSF_TILE + 1] of each tile of a chunk, and above the chunk */
  void *scratch;
  uint64_t scratch_bytes;
  msf_filter_control *control;
  unsigned turn;        /* which word of the tally counts now, of the front */
  unsigned back_turn;   /* and of the back */
  uint32_t chunks;      /* filtered since the columns were empty */
  bool taken_in_second; /* which of first and second holds what was merged last */
} msf_filter;

/* Edges on their way: the upper parts of rows, whole rows, or a list. Device memory. */
typedef struct msf_chunk {
  uint32_t edges;
  bool back;                 /* it comes before all that came from the back, and after the rest */
  uint32_t rows;             /* 0: a list */
  uint32_t first_row;        /* the vertex of row 0 */
  const uint64_t *offsets;   /* [rows + 1] of whole rows, of which only upper arcs count; or NULL */
  uint64_t first_arc;        /* the first arc here, as offsets count them */
  const uint32_t *starts;    /* [rows + 1] where each row begins */
  const uint32_t *shifts;    /* [rows] to add to an edge's place here, for its id */
  const uint32_t *tile_rows; /* [tiles + 1] the row of the first edge of each tile; the last row */
  const uint32_t *u;         /* [edges] of a list */
  const uint32_t *ids;       /* [edges] of a list */
  uint64_t first_id;         /* of a list: to add to the ids */
  const uint32_t *v;         /* [edges] */
  const void *keys;          /* [edges] of 32 or 64 bits, or NULL: all 0 */
} msf_chunk;

/* Bytes of device memory for a shape, and how it is laid out in them. */
uint64_t msf_filter_bytes(const msf_filter_shape *shape);
void msf_filter_place(msf_filter *f, dzo_unit *unit, const msf_filter_shape *shape, void *memory);

/* All that follows is work of queue 0, defined in gpu_filter.cu and gpu_merge.cu. */

/* There are `vertices` vertices from now on; new ones are trees. The first call also empties the
 * columns. */
dzo_status msf_filter_vertices(msf_filter *f, uint64_t vertices);
/* Filter a chunk and append what is kept to the batch; there must be room. */
dzo_status msf_filter_chunk(msf_filter *f, const msf_chunk *chunk);
/* Copy the numbers of edges in the columns to staging memory. */
dzo_status msf_filter_count(msf_filter *f, msf_filter_tally *to);
/* The columns hold so many edges at the front, and at the back: make them the forest of themselves.
 * `last`: all of it moves to the front, and no chunk follows. */
dzo_status msf_filter_merge(msf_filter *f, uint64_t front, uint64_t back, bool last);
/* After a merge of `count` edges: a bit for each, set if it is in the forest. *bits is device
 * memory, [count / 32]. */
dzo_status msf_filter_taken(msf_filter *f, uint64_t count, uint32_t **bits);
/* After a merge: the tree of each vertex, numbered by smallest vertex. *labels is device memory,
 * [vertices], and takes the place of the column MSF_V, after which nothing can be filtered. */
dzo_status msf_filter_labels(msf_filter *f, uint32_t **labels);
/* After a merge: write the first f->numbered ids to f->first, in words of 64 bits. */
dzo_status msf_filter_numbers(msf_filter *f);
/* After a merge, once: add up the keys, flipped back, into control->sums. */
dzo_status msf_filter_sum(msf_filter *f, uint64_t count);
/* Sort `count` numbers of so many bits, at most one a vertex, that were written to f->first.
 * *sorted is device memory: the numbers in words of 32 bits if they fit, otherwise of 64. They take
 * the place of the hierarchy. */
dzo_status msf_filter_sort_numbers(msf_filter *f, uint64_t count, int bits, uint32_t **sorted);
/* After a merge: for each vertex the heaviest key on its climb to its root, and the root.
 * Valid until the next merge. */
dzo_status msf_filter_bounds(msf_filter *f);
/* Then: the bounds and roots of `count` vertices; all three arrays are staging memory. At most
 * msf_filter_looks() at a time. */
uint32_t msf_filter_looks(const msf_filter *f);
dzo_status msf_filter_look(msf_filter *f, uint32_t count, const uint32_t *vertices,
                           uint64_t *bounds, uint32_t *roots);
/* Then: a bit for each vertex below this root whose bound is at most `bound`. *bits is device
 * memory, [vertices / 32]. */
dzo_status msf_filter_bits(msf_filter *f, uint32_t root, uint64_t bound, uint32_t **bits);

#ifdef __cplusplus
}
#endif
#endif
