/* log_json: a line of the log as a JSON object. Whatever bytes a text has, the line is valid JSON
 * and UTF-8: control characters are escaped, bytes that are no UTF-8 become U+FFFD. A pure
 * function.
 */
#ifndef BASE_LOG_JSON_H
#define BASE_LOG_JSON_H

#include "base/log.h"

/* Of a line. A text of LOG_TEXT_BYTES always fits, at six bytes for each; so do a few fields. What
 * does not fit is left out: the end of a text, a whole field. */
#define LOG_JSON_BYTES 8192

struct log_json_line {
    enum log_level level;
    int64_t time_ms; /* since 1970 */
    int pid;
    const char *text;
    const struct log_field *fields; /* borrowed, `count` of them */
    size_t count;
};

/* Writes the line, with its '\n', and returns its length. */
size_t log_json(const struct log_json_line *line, char out[LOG_JSON_BYTES]);

#endif
