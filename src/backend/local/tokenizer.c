/* tokenizer: between FTS5 and the tokenizer that finds words: the text is folded on the way in, and
 * the places of words are turned back into those of the text on the way out.
 */
#include "backend/local/tokenizer.h"

#include "backend/local/text_fold.h"
#include "base/mem.h"

struct tokenizer {
    fts5_tokenizer inner;
    Fts5Tokenizer *words;
};

typedef int token_fn(void *arg, int flags, const char *token, int bytes, int start, int end);

/* Who is told of a word, and the text that it is in. */
struct listener {
    const struct text_fold *fold;
    token_fn *token;
    void *arg;
};

static void tokenizer_delete(Fts5Tokenizer *t)
{
    struct tokenizer *x = (struct tokenizer *)t;
    if (x->words != NULL) x->inner.xDelete(x->words);
    mem_free(x);
}

static int tokenizer_create(void *arg, const char **argv, int argc, Fts5Tokenizer **out)
{
    fts5_api *api = arg;
    void *user = NULL;
    struct tokenizer *x = mem_new(sizeof *x);
    int rc = argc < 1 ? SQLITE_ERROR : api->xFindTokenizer(api, argv[0], &user, &x->inner);
    if (rc == SQLITE_OK) rc = x->inner.xCreate(user, argv + 1, argc - 1, &x->words);
    if (rc != SQLITE_OK) {
        x->words = NULL;
        tokenizer_delete((Fts5Tokenizer *)x);
        return rc;
    }
    *out = (Fts5Tokenizer *)x;
    return SQLITE_OK;
}

static int on_token(void *arg, int flags, const char *token, int bytes, int start, int end)
{
    const struct listener *to = arg;
    size_t from = 0, until = 0;
    text_fold_source(to->fold, (size_t)start, (size_t)end, &from, &until);
    return to->token(to->arg, flags, token, bytes, (int)from, (int)until);
}

static int tokenizer_tokenize(Fts5Tokenizer *t, void *arg, int flags, const char *text, int bytes,
                              token_fn *token)
{
    const struct tokenizer *x = (const struct tokenizer *)t;
    struct text_fold fold;
    struct listener to = {.fold = &fold, .token = token, .arg = arg};
    int rc = SQLITE_NOMEM;
    if (text_fold_init(&fold, slice_of(text, (size_t)bytes))) {
        const char *folded = fold.text.len > 0 ? (const char *)fold.text.data : "";
        rc = x->inner.xTokenize(x->words, &to, flags, folded, (int)fold.text.len, on_token);
    }
    text_fold_fini(&fold);
    return rc;
}

int tokenizer_register(fts5_api *api)
{
    fts5_tokenizer folded = {tokenizer_create, tokenizer_delete, tokenizer_tokenize};
    return api->xCreateTokenizer(api, "folded", api, &folded, NULL);
}
