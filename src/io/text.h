/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The dzo authors */
/* Text that holds one edge a line, whatever the format: a format only reads its prologue and says
 * how the lines behind it look. */
#ifndef DZO_IO_TEXT_H
#define DZO_IO_TEXT_H

#include "dzo/graph.h"
#include "io/input.h"

/* How the two ends of an edge follow from its position in a dense matrix, column by column. */
typedef enum dzo_array_part {
  DZO_ARRAY_NONE, /* the lines name the ends */
  DZO_ARRAY_ALL,
  DZO_ARRAY_LOWER,       /* the diagonal and below */
  DZO_ARRAY_STRICT_LOWER /* below the diagonal */
} dzo_array_part;

/* What a prologue tells about the lines behind it. */
typedef struct dzo_text_layout {
  const char *name; /* of the input, borrowed */
  dzo_format format;
  uint64_t offset;           /* of the first line of edges */
  uint64_t line;             /* its number, from 1 */
  char comment;              /* lines whose first character it is are skipped; '\0': none */
  bool comment_stands_alone; /* only if a blank or the end of the line follows it */
  char tag;                  /* a letter that begins every edge; '\0': none */
  char separator;            /* between columns; '\0': blanks */
  unsigned column[3];        /* of the two ends and the weight, from 0 (tag not counted) */
  bool extra_columns;        /* further columns are ignored */
  dzo_array_part part;
  /* Weights. The type is a guess unless `weight_fixed`: see dzo_text_read. */
  dzo_weight_type weight; /* NONE, I64, U64 or F64 */
  bool integers_only;     /* a decimal is an error */
  bool real;              /* declared real: integers are rounded to doubles */
  /* Ends. Declared: every name is in first_label .. first_label + vertices - 1. Otherwise names are
   * any 64-bit numbers. */
  bool declared;
  uint64_t vertices;
  uint64_t first_label;
  bool no_loops; /* skew-symmetric */
  bool counted;  /* exactly `count` edges must follow */
  uint64_t count;
} dzo_text_layout;

/* Edges as the lines name them. Arrays are dzo_alloc'ed. */
typedef struct dzo_text_edges {
  uint64_t capacity, count;
  bool wide;        /* ends are in `u64`, else in `u32` */
  uint32_t *u32[2]; /* [capacity], first_label subtracted where declared */
  uint64_t *u64[2]; /* [capacity] */
  dzo_weight_type type;
  void *weights; /* [capacity] of 8 bytes, or NULL */
  bool decimals; /* a weight was written as a decimal or an infinity */
} dzo_text_edges;

/* The first thing in file order that stopped the parsing of a block. */
typedef enum dzo_text_stop {
  DZO_TEXT_GOES_ON,
  DZO_TEXT_FAILED,    /* `status` and `text` say why */
  DZO_TEXT_WANTS_F64, /* a decimal among integers */
  DZO_TEXT_WANTS_U64, /* an integer over INT64_MAX */
  DZO_TEXT_CONFLICT,  /* both negative and over INT64_MAX; only doubles might hold them */
  DZO_TEXT_WANTS_WIDE /* an end over UINT32_MAX */
} dzo_text_stop;

typedef struct dzo_text_event {
  dzo_text_stop stop;
  dzo_status status;
  uint64_t line;
  char text[200];
} dzo_text_event;

/* One edge of a line. */
typedef struct dzo_text_edge {
  uint64_t end[2];
  union {
    int64_t i64;
    uint64_t u64;
    double f64;
  } weight;
  bool decimal; /* the weight is written as one */
} dzo_text_edge;

typedef enum dzo_line_kind { DZO_LINE_EDGE, DZO_LINE_EMPTY, DZO_LINE_STOP } dzo_line_kind;

/* Parse one line, without its end, in full generality; on STOP `event` says why (not its line). */
dzo_line_kind dzo_text_parse_line(const dzo_text_layout *layout, const char *line, const char *end,
                                  dzo_text_edge *edge, dzo_text_event *event);

/* Whole lines; the last one may lack its end. */
typedef struct dzo_text_block {
  const char *begin, *end;
  uint64_t line;  /* number of the first line */
  uint64_t lines; /* set by dzo_text_parse: how many there are */
  bool report;    /* progress, in bytes of the block */
} dzo_text_block;

/* Parse a block into `edges` (what was there before is dropped), in parallel, growing the arrays.
 * Status: memory and cancellation only; everything else is the event, the first in file order for
 * any number of threads. */
dzo_status dzo_text_parse(dzo_context *context, const dzo_text_layout *layout,
                          dzo_text_block *block, dzo_text_edges *edges, dzo_text_event *event);
/* The number of the line of the block's edge `index`, for messages. */
uint64_t dzo_text_line_of_edge(const dzo_text_layout *layout, const dzo_text_block *block,
                               uint64_t index);
/* Free the arrays. */
void dzo_text_edges_release(dzo_text_edges *edges);
/* Fail with "NAME:LINE: ..." */
#if defined(__GNUC__) || defined(__clang__)
__attribute__((format(printf, 5, 6)))
#endif
dzo_status
dzo_text_refuse(dzo_context *context, const char *name, uint64_t line, dzo_status status,
                const char *format, ...);
dzo_status dzo_text_refuse_event(dzo_context *context, const char *name,
                                 const dzo_text_event *event);

/* A prologue: fill in `layout`, which has its name set and otherwise zeros. `text` is the content,
 * or its head; `complete` tells which. */
typedef dzo_status (*dzo_text_prologue)(dzo_context *context, const char *text, uint64_t size,
                                        bool complete, dzo_text_layout *layout);

/* Read a whole input. The weight type, unless declared: I64 if all are integers, U64 if some are
 * over INT64_MAX (and none negative), F64 if any is a decimal. */
dzo_status dzo_text_read(dzo_context *context, dzo_input *input, dzo_text_prologue prologue,
                         dzo_edge_list **out);
/* The same as a source; see source.c. */
dzo_status dzo_text_stream(dzo_context *context, dzo_input *input, dzo_text_prologue prologue,
                           dzo_edge_source *out);

/* dzo_text_parse, going over to a wider type of weight or end in layout and edges as often as it
 * takes; what stops it otherwise is an error. */
dzo_status dzo_text_settle(dzo_context *context, dzo_text_layout *layout, dzo_text_block *block,
                           dzo_text_edges *edges);
/* Does some line of the block hold a decimal? Looks at a few lines only. */
bool dzo_text_sample_decimals(const dzo_text_layout *layout, const dzo_text_block *block);
/* Check what the layout promises of a block of edges of which `before` came earlier; `last` tells
 * that none will follow. */
dzo_status dzo_text_check(dzo_context *context, const dzo_text_layout *layout,
                          const dzo_text_block *block, const dzo_text_edges *edges, uint64_t before,
                          bool last);
/* Write the ends of the edges number first .. first + count - 1 of a dense matrix. */
void dzo_text_array_ends(const dzo_text_layout *layout, uint64_t first, uint64_t count, uint32_t *u,
                         uint32_t *v);

/* ---- Small things for prologues -------------------------------------------------------------- */

/* A walk through lines. */
typedef struct dzo_lines {
  const char *next, *end; /* what is left */
  uint64_t number;        /* of the line last taken, from 1 */
} dzo_lines;

/* Start at the first line; a UTF-8 byte order mark is skipped. */
dzo_lines dzo_lines_of(const char *text, uint64_t size);
/* The next line as [*line, *line_end), without its end and the blanks around it; false at the end
 * of the text. */
bool dzo_lines_next(dzo_lines *lines, const char **line, const char **line_end);

/* The first begin of a line at or after `p`, in text that begins with a line. */
const char *dzo_text_line_begin(const char *begin, const char *end, const char *p);

/* The next token of [*p, end): set off by blanks, or empty at the end. */
typedef struct dzo_word {
  const char *at;
  size_t length;
} dzo_word;
dzo_word dzo_next_word(const char **p, const char *end);
/* How many words the line has; counting ends at `most`. */
unsigned dzo_count_words(const char *p, const char *end, unsigned most);
/* Skip empty lines and those that begin with `comment`; false if no other line follows. */
bool dzo_lines_next_data(dzo_lines *lines, char comment, const char **line, const char **line_end);
/* The next field of a separated line, quotes and blanks taken off; *p is NULL behind the last.
 * False if there is none. */
bool dzo_next_field(const char **p, const char *end, char separator, dzo_word *field);
/* The comma, semicolon or tab that separates the columns of this line, '\0' if none does. */
char dzo_csv_separator(const char *p, const char *end);
/* ASCII case is ignored. */
bool dzo_word_is(dzo_word word, const char *lower_case);
/* A word of digits alone that fits 64 bits. */
bool dzo_word_u64(dzo_word word, uint64_t *value);
/* The word as it may stand in a message: printable, at most 40 characters. Returns `buffer`. */
enum { DZO_SHOWN_BYTES = 48 };
const char *dzo_word_show(dzo_word word, char buffer[DZO_SHOWN_BYTES]);

#endif
