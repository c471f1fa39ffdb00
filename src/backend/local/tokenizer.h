/* tokenizer: the tokenizer `folded` for FTS5: what its argument, another tokenizer with its own
 * arguments, makes of the folded text (text_fold.h). Places of words are those in the text itself,
 * so that it can be shown with what was found. The interface is that of "Custom Tokenizers" in
 * SQLite's document FTS5.
 */
#ifndef BACKEND_LOCAL_TOKENIZER_H
#define BACKEND_LOCAL_TOKENIZER_H

#include <sqlite3.h>

/* For each connection, once; a result of SQLite. */
int tokenizer_register(fts5_api *api);

#endif
