/* page: what a browser that is led to the server sees. */
#include "http/route.h"

void page_root_run(struct exchange *x)
{
    exchange_header(x, "location", slice_str("ui/"));
    exchange_answer(x, 301, NULL, slice_of(NULL, 0));
}
