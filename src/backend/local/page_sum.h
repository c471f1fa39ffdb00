/* page_sum: what proves that a page of tupled.db is the one that was written. Pure functions.
 *
 * In the database file the last PAGE_SUM_BYTES of each page (SQLite's reserved bytes, which its
 * shell leaves alone) hold
 *
 *   xxh3_64(the bytes before, seeded with the number of the page), little-endian
 *
 * so that a page at a wrong place is noticed too. A page of which all is zero, the sum included,
 * was never written: free pages may be like that, an entry is never on one.
 *
 * In the write-ahead log a page keeps the checksum that SQLite gave its frame ("The WAL File
 * Format" in SQLite's documentation, part "Checksum Algorithm"); SQLite itself looks at it only
 * after a crash.
 */
#ifndef BACKEND_LOCAL_PAGE_SUM_H
#define BACKEND_LOCAL_PAGE_SUM_H

#include <stdbool.h>
#include <stdint.h>

#define PAGE_BYTES 4096
#define PAGE_SUM_BYTES 8

enum page_state { PAGE_GOOD, PAGE_BLANK, PAGE_DAMAGED };

/* `page` has PAGE_BYTES; `number` counts from 1, as SQLite does. */
void page_sum_put(uint8_t *page, uint32_t number);
bool page_is_blank(const uint8_t *page);
enum page_state page_sum_check(const uint8_t *page, uint32_t number);

#define WAL_HEADER_BYTES 32
#define WAL_FRAME_BYTES 24 /* before each page */

/* The number of the page that follows the frame header. */
uint32_t wal_frame_page(const uint8_t *frame);

/* Does the page belong to its frame? `header` is of the log, `before` the frame header before this
 * one (NULL: it is the first), `frame` its own. */
bool wal_frame_is_good(const uint8_t *header, const uint8_t *before, const uint8_t *frame,
                       const uint8_t *page);

#endif
