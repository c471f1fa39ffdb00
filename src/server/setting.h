/* setting: one row of the table of settings (config_table.c), for those that turn words into its
 * value (config_set.c) and back (config_get.c).
 */
#ifndef SERVER_SETTING_H
#define SERVER_SETTING_H

#include "server/config.h"

#define KB (UINT64_C(1) << 10)
#define MB (UINT64_C(1) << 20)
#define GB (UINT64_C(1) << 30)
#define NUMBER_MAX UINT64_C(2147483647) /* of settings that Redis keeps in an int */
#define SIZE_MAX_ANY ((uint64_t)INT64_MAX)
#define MINUS_1 ((uint64_t)INT64_C(-1)) /* of a signed setting */

enum setting_type {
    SETTING_NUMBER,
    SETTING_SIGNED,
    SETTING_SIZE,
    SETTING_SHARE,  /* a size or 0, or a percentage: tenths of a percent as a negative number */
    SETTING_MEMORY, /* the same, but the size is from min to max */
    SETTING_OCTAL,
    SETTING_WORD,
    SETTING_TEXT,
    SETTING_SECRET,   /* a text that is a password */
    SETTING_SCHEDULE, /* a text that base/schedule.h reads */
    SETTING_EVENTS,   /* flags that request/notify.h reads */
    SETTING_BIND,
    SETTING_OUTPUT_LIMIT,
    SETTING_DURABILITY,
    SETTING_PERCENTILES
};

struct setting {
    const char *name;
    enum setting_type type;
    size_t offset; /* of its member; of the first, when there are several */
    const char *default_text;
    uint64_t min, max; /* number, size, octal, signed (as int64): the value; text: its bytes; bind:
                        * addresses; durability: the interval's ms */
    const char *const *words; /* SETTING_WORD: NULL-ended, in the order of the member's enum */
    bool is_mutable;
    const char *help;
};

const struct setting *setting_at(size_t i);
/* Is its member an owned text? */
bool setting_is_text(const struct setting *s);
/* Is s the lower-case ASCII word, in any case? */
bool setting_is_word(struct slice s, const char *word);

#define SIZE_TEXT_BYTES 32
/* A size as a person would write it: 16mb, 1kb, 1000. config_get.c. */
void size_to_text(uint64_t bytes, char out[SIZE_TEXT_BYTES]);

#endif
