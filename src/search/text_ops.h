/* text_ops: specs and texts (text.h) as the backend asks for them (backend/text.h). */
#ifndef SEARCH_TEXT_OPS_H
#define SEARCH_TEXT_OPS_H

#include "backend/text.h"

extern const struct text_ops search_text_ops;

#endif
