/* info: what INFO says, by name. */
#ifndef TOOL_INFO_H
#define TOOL_INFO_H

#include "base/slice.h"

/* The value of `name:value` in the text of INFO; false when it is not there. */
bool info_text(struct slice info, const char *name, struct slice *out);
/* 0 when it is not there, or no number. */
int64_t info_i64(struct slice info, const char *name);
/* The number of `field=number` in a value such as calls=3,usec=10; false when it is not there. */
bool info_field(struct slice value, const char *field, double *out);

/* The next line without its end, and what follows it; false at the end. */
bool info_line(struct slice *rest, struct slice *line);

#endif
