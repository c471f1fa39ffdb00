/* status: how a call of tupledctl ends, which is its exit status. */
#ifndef TOOL_STATUS_H
#define TOOL_STATUS_H

enum tool_status {
    TOOL_DONE = 0,   /* done */
    TOOL_NO = 1,     /* the server refused it, or the data is not as it should be */
    TOOL_WORDS = 2,  /* the words are wrong */
    TOOL_BROKEN = 3, /* no connection, or it broke */
};

#endif
