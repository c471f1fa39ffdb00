# shellcheck shell=bash
# For tests/mutants/random.sh: where in a source which change can be made. Kinds:
#
#   relation   < and <=, > and >=, == and != for one another
#   logic      && and || for one another
#   sign       + and - between two operands for one another
#   number     an integer n becomes n + 1, but 1 becomes 0
#   condition  of if and while, within a line: negated
#   answer     return true and return false for one another
#   jump       break out of a loop, by its braces or in its own line, becomes continue
#   call       a statement that is a call and no more, within a line, is left out
#
# Left alone are comments, strings, characters, preprocessor lines, attributes, static assertions, the 0 of {0}, and
# INVARIANT, va_start and va_end as calls: nothing can be seen without them. It is no C parser: it relies on
# the blanks that clang-format keeps, and a place that it mistakes does not compile.

# places <file>...: a line for each: path, number of the line, kind, the line, the line changed; with tabs between.
places() {
    awk '
# The tokens of a line: token[], at which column[], and is_what[]. is_comment carries a comment to the next lines.
function tokens_of(text,    at, rest, length_of) {
    count = 0
    at = 1
    while (at <= length(text)) {
        rest = substr(text, at)
        if (is_comment) {
            if (!match(rest, /\*\//)) return
            is_comment = 0
            at += RSTART + 1
            continue
        }
        if (match(rest, /^[ ]+/)) { at += RLENGTH; continue }
        if (rest ~ /^\/\//) return
        if (rest ~ /^\/\*/) { is_comment = 1; at += 2; continue }
        count++
        column[count] = at
        if (match(rest, /^[A-Za-z_][A-Za-z0-9_]*/)) is_what[count] = "name"
        else if (match(rest, /^\.?[0-9]([eEpP][+-]|[A-Za-z0-9_.])*/)) is_what[count] = "number"
        else if (match(rest, /^"([^"\\]|\\.)*"/) || match(rest, /^\047([^\047\\]|\\.)*\047/)) is_what[count] = "text"
        else {
            is_what[count] = "sign"
            if (!match(rest, /^(<<=|>>=|\.\.\.|<<|>>|->|\+\+|--|&&|\|\||[-+*\/%&|^<>=!]=)/)) match(rest, /^./)
        }
        length_of = RLENGTH
        token[count] = substr(rest, 1, length_of)
        at += length_of
    }
    token[count + 1] = token[count + 2] = token[count + 3] = ""
}

# Where the bracket of token i is closed in this line, or 0.
function closing(i,    depth) {
    for (; i <= count; i++) {
        if (token[i] == "(") depth++
        if (token[i] == ")" && --depth == 0) return i
    }
    return 0
}

# The tokens first to last are replaced.
function place(kind, first, last, by,    end) {
    end = column[last] + length(token[last])
    printf "%s\t%d\t%s\t%s\t%s\n", FILENAME, FNR, kind, $0, substr($0, 1, column[first] - 1) by substr($0, end)
}

function one_more(text,    digits, suffix) {
    if (!match(text, /^[0-9]+/)) return "" # a fraction
    digits = substr(text, 1, RLENGTH)
    suffix = substr(text, RLENGTH + 1)
    if (text ~ /^(0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]+)[uUlL]*$/) return "(" text " + 1)"
    if (suffix !~ /^[uUlL]*$/) return ""
    if (length(digits) > 15) return "(" text " + 1)"
    return sprintf("%.0f", digits == "1" ? 0 : digits + 1) suffix
}

# What a break at this place leaves: its own statement, or the nearest block of a loop or a switch.
function around(    i) {
    if (head != "") return head
    for (i = depth; i > 0; i--) if (block[i] == "loop" || block[i] == "switch") return block[i]
    return ""
}

function on_name(i, is_first,    last) {
    last = token[i + 1] == "(" ? closing(i + 1) : 0
    if (token[i] ~ /^(for|while|do)$/) head = "loop"
    if (token[i] == "switch") head = "switch"
    if (token[i] ~ /^(case|default)$/) is_case = 1
    if (token[i] ~ /^(else|do)$/) is_start = 1
    if (token[i] ~ /^(if|while)$/ && last) {
        place("condition", i + 1, last, "(!" substr($0, column[i + 1], column[last] - column[i + 1] + 1) ")")
    } else if (is_first && last && token[last + 1] == ";" && token[i] !~ NO_CALL) {
        place("call", i, last + 1, "(void)0;")
    }
    if (token[i] == "return" && token[i + 1] ~ /^(true|false)$/ && token[i + 2] == ";")
        place("answer", i + 1, i + 1, token[i + 1] == "true" ? "false" : "true")
    if (token[i] == "break" && token[i + 1] == ";" && around() == "loop") place("jump", i, i, "continue")
}

# Brackets, and where a statement ends and the next begins.
function on_bracket(i, is_first,    is_block) {
    if (token[i] == "(") {
        is_control[++brackets] = before ~ /^(if|while|for|switch)$/
    } else if (token[i] == ")") {
        if (brackets > 0 && is_control[brackets--] && brackets == 0) is_start = 1
    } else if (token[i] == "{") {
        is_block = is_first || (depth == 0 && before == ")")
        block[++depth] = is_block ? head : "value"
        head = ""
        is_start = is_block
    } else if (token[i] == "}") {
        is_start = depth > 1 && block[depth] != "value"
        if (depth > 0) depth--
        head = ""
    } else if (token[i] == ";" && brackets == 0) {
        is_start = depth > 0 && block[depth] != "value"
        head = ""
        is_case = 0
    } else if (token[i] == ":" && is_case && brackets == 0) {
        is_start = 1
        is_case = 0
    }
}

function on_token(i,    is_first, next_char, changed) {
    if (skipped != "") { # an attribute, up to its last bracket
        skipped += (token[i] == "(") - (token[i] == ")")
        if (skipped == 0) skipped = ""
        return
    }
    if (token[i] ~ /^(__attribute__|_Static_assert|static_assert)$/) { skipped = 0; return }
    is_first = is_start
    is_start = 0
    if (is_what[i] == "name") on_name(i, is_first)
    else if (is_what[i] == "number" && !(before == "{" && token[i + 1] == "}" && token[i] == "0")) {
        changed = one_more(token[i])
        if (changed != "") place("number", i, i, changed)
    } else if (token[i] in RELATION) place("relation", i, i, RELATION[token[i]])
    else if (token[i] in LOGIC) place("logic", i, i, LOGIC[token[i]])
    else if (token[i] in SIGN) {
        next_char = substr($0, column[i] + 1, 1)
        if (before_is_what != "sign" && before !~ /^(return|case|else|sizeof)$/ || before ~ /^[])]$/)
            if (next_char == " " || next_char == "") place("sign", i, i, SIGN[token[i]])
    } else on_bracket(i, is_first)
    before = token[i]
    before_is_what = is_what[i]
}

function pairs(text, into,    list, n, i) {
    n = split(text, list, " ")
    for (i = 1; i < n; i += 2) {
        into[list[i]] = list[i + 1]
        into[list[i + 1]] = list[i]
    }
}

BEGIN {
    pairs("< <= > >= == !=", RELATION)
    pairs("&& ||", LOGIC)
    pairs("+ -", SIGN)
    NO_CALL = "^(if|while|for|switch|return|sizeof|INVARIANT|va_start|va_end)$"
}
FNR == 1 {
    is_comment = is_directive = is_start = is_case = depth = brackets = 0
    before = before_is_what = head = skipped = ""
}
is_directive || (!is_comment && /^ *#/) {
    is_directive = /\\$/
    tokens_of($0) # a comment may begin there
    next
}
/\t/ { $0 = "" }
{
    tokens_of($0)
    for (i = 1; i <= count; i++) on_token(i)
}' "$@"
}
