/* page_file: the files of web/, which are part of the program (tools/page_files.sh). */
#ifndef HTTP_PAGE_FILE_H
#define HTTP_PAGE_FILE_H

#include <stddef.h>
#include <stdint.h>

struct page_file {
    const char *name; /* NULL: the end of the table */
    const char *type;
    const char *tag; /* ETag: changes when the file does */
    const uint8_t *gzip;
    size_t gzip_bytes, bytes;
};

extern const struct page_file page_files[];

#endif
