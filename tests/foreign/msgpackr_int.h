/* msgpackr_int: the extensions of msgpackr that are not those of the stored form. */
#ifndef TESTS_FOREIGN_MSGPACKR_INT_H
#define TESTS_FOREIGN_MSGPACKR_INT_H

#include "foreign/msgpackr.h"

enum msgpackr_ext {
    MSGPACKR_ERROR = 0x65,
    MSGPACKR_ID = 0x69,
    MSGPACKR_AGAIN = 0x70,
    MSGPACKR_RECORD = 0x72,
    MSGPACKR_SET = 0x73,
    MSGPACKR_REGEXP = 0x78
};

#define MSGPACKR_RECORD_FIRST 0x40 /* to 7f: one byte is the number of a record */
#define MSGPACKR_RECORD_COUNT 64

#endif
