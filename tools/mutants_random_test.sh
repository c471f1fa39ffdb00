#!/bin/bash
# Does tests/mutants.sh --random change what it says, and nothing else? Small texts, and a small tree whose build and
# tests are stubs. Prints `ok - name` and `not ok - name`, as tests/run.sh wants it.

set -u
root=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
. "$root/tests/mutants/plant.sh"
. "$root/tests/mutants/places.sh"
. "$root/tests/mutants/random.sh"
failed=0

verdict() {
    if [ "$1" = 0 ]; then
        echo "ok - $2"
    else
        echo "not ok - $2"
        sed 's/^/# /' out
        failed=1
    fi
}

# in_function <line>: a file with it, in line 3.
in_function() {
    printf 'static void f(void)\n{\n    %s\n}\n' "$1" >a.c
}

# compare <name> <kind> <line>...: these, and no others, are what the lines of a.c become by changes of that kind.
compare() {
    local name=$1
    places a.c >found
    awk -F '\t' -v kind="$2" '$3 == kind { sub(/^ +/, "", $5); print $5 }' found >out
    shift 2
    { [ $# -eq 0 ] || printf '%s\n' "$@"; } | diff - out >diff.txt
    verdict $? "$name"
}

# becomes <name> <kind> <line> <changed>...
becomes() {
    in_function "$3"
    compare "$1" "$2" "${@:4}"
}

# stays <name> <text of a file>: there is no place in it.
stays() {
    printf '%s\n' "$2" >a.c
    places a.c >out
    [ ! -s out ]
    verdict $? "$1"
}

# ---- kinds ----

becomes "relations" relation "g(a < b, c <= d, e > f, g >= h);" "g(a <= b, c <= d, e > f, g >= h);" \
    "g(a < b, c < d, e > f, g >= h);" "g(a < b, c <= d, e >= f, g >= h);" "g(a < b, c <= d, e > f, g > h);"
becomes "equality" relation "x = a == b ? c != d : y;" "x = a != b ? c != d : y;" "x = a == b ? c == d : y;"
becomes "and, or" logic "x = a && b || !c & d;" "x = a || b || !c & d;" "x = a && b && !c & d;"
becomes "plus, minus" sign "x = a + b[i] - f(c);" "x = a - b[i] - f(c);" "x = a + b[i] + f(c);"
becomes "a sign at the end of a line" sign "x = (a) +" "x = (a) -"
becomes "numbers" number "x = 0 + 1 + 41u + 0x1fUL + 0644 + 9;" "x = 1 + 1 + 41u + 0x1fUL + 0644 + 9;" \
    "x = 0 + 0 + 41u + 0x1fUL + 0644 + 9;" "x = 0 + 1 + 42u + 0x1fUL + 0644 + 9;" \
    "x = 0 + 1 + 41u + (0x1fUL + 1) + 0644 + 9;" "x = 0 + 1 + 41u + 0x1fUL + (0644 + 1) + 9;" \
    "x = 0 + 1 + 41u + 0x1fUL + 0644 + 10;"
becomes "a number of 20 digits" number "x = 18446744073709551615u;" "x = (18446744073709551615u + 1);"
becomes "conditions" condition "} else if (a(b) && (c)) {" "} else if (!(a(b) && (c))) {"
becomes "conditions of while" condition "while (p != NULL) p = next(p);" "while (!(p != NULL)) p = next(p);"
becomes "answers" answer "return true; /* or */ return false;" "return false; /* or */ return false;" \
    "return true; /* or */ return true;"
becomes "calls" call "f(a, g(b));" "(void)0;"
becomes "calls of one part of a statement" call "if (a) f(b); else g();" \
    "if (a) (void)0; else g();" "if (a) f(b); else (void)0;"
becomes "calls after a case" call "case A: f(b); break;" "case A: (void)0; break;"
becomes "break in a loop" jump "for (int i = 0; i < n; i++) if (a) break;" \
    "for (int i = 0; i < n; i++) if (a) continue;"

cat >a.c <<'END'
static void f(void)
{
    while (a) {
        if (b) {
            break;
        }
        switch (c) {
        case A: break;
        case B:
            for (;;) {
                break; /* inner */
            }
            break;
        }
        struct x y = {.z = 1};
        if (d) break; /* outer */
    }
    switch (c) {
    case A: break;
    }
}
END
compare "break, but not of a switch" jump "continue;" "continue; /* inner */" "if (d) continue; /* outer */"

# ---- what is left alone ----

stays "comments" "/* a < b */ // c && d
/* one + two
 * if (x) f(); return true;
 */ int x;"
stays "strings and characters" 'const char *s = "a < b \" && 1 /*", *t = "c + d", u = '"'\\\\', v = '\\'', w = '<';"
stays "preprocessor lines" '#include <a.h>
#  if A < 1 && \
    B > 2
#define F(x) ((x) + 1) /* of
 * 2 lines: 1 < 2 */
#endif'
stays "attributes and static assertions" 'static __attribute__((format(printf, 1,
    2))) void f(const char *s);
_Static_assert(sizeof(int) == 4 && A < B, "");'
in_function 'struct x y = {0}, *p = &z; p->a++; x = -y; --b; return -c; *p = (int)-d; e += f; g <<= h >> i; k = l / m;'
places a.c >out
[ ! -s out ]
verdict $? "what only looks like an operator"
becomes "fractions are no integers" number "x = 1.5 + 1e9 + .5 + 0x1p3 + a1;"
stays "prototypes, members, macros of a file" 'int f(void);
struct x { int (*f)(void); char a; };
ARGUMENTS(x, y);'
becomes "calls whose result counts" call "x = f(a); return g(b); (void)h(c); INVARIANT(d); va_end(e);"
becomes "calls of more than a line" call "f(a,"
in_function "x = a +"
sed -i '3a\        g(b);' a.c
compare "the second line of a statement" call
becomes "conditions of more than a line" condition "if (a &&"

# ---- the choice ----

for ((i = 0; i < 1000; i++)); do echo "$i"; done >numbers
draw 5 10 <numbers >first
draw 5 200 <numbers >out
head -n 10 out | cmp -s - first && [ "$(sort -u out | wc -l)" -eq 200 ]
verdict $? "the same seed draws the same, and nothing twice"
for seed in 0 1 2 3 4000000000 999999999999999; do draw "$seed" 10 <numbers | paste -sd ' '; done >out
[ "$(sort -u out | wc -l)" -eq 6 ]
verdict $? "other seeds draw others"
[ "$(for ((seed = 0; seed < 200; seed++)); do draw "$seed" 10 <numbers; done | sort -n | tee out |
    awk '{ tenth[int($1 / 100)]++ } END { for (i = 0; i < 10; i++) if (tenth[i] < 150 || tenth[i] > 250) bad++
        print bad + 0 }')" = 0 ]
verdict $? "each place is as likely as another"
[ "$(draw 1 5 </dev/null | wc -l)$(head -n 3 numbers | draw 1 5 | wc -l)" = 03 ]
verdict $? "there may be fewer than are to be drawn"

# ---- planting ----

printf 'a;\nb;\na;\n' >saved
plant a.c 'a;' 'c \n "&";' 3
printf '#line 1\na;\nb;\nc \\n "&";\n' >wanted.c
grep -v "^#pragma GCC diagnostic ignored" a.c | diff wanted.c - >out
verdict $? "a line is planted by its number"
{ ! plant a.c 'a;' 'c;' 2 && ! plant a.c 'a;' 'c;' 4 && ! plant a.c 'a;' 'c;' && plant a.c 'b;' 'c;'; } >out 2>&1
verdict $? "not in place of another line; without a number, only where it is once"

# ---- the nearest tests ----

mkdir -p tests/mutants tests/unit/{base,net}
touch tests/unit/base/test_{a,b,c,d,x}.c tests/unit/net/test_z.c
echo '#include "base/e.h"' >tests/unit/base/test_c.c
cat >tests/mutants/a.txt <<'END'
mutant one
file src/base/x.c
test redis test_rare
mutant two
file src/base/x.c
test redis test_often
test unit base/test_d
mutant three
file src/base/x.c
test redis test_often
mutant four
file src/db/y.c
test redis test_db
END
near() { # name, path, tests
    nearest "$2" >out
    printf '%s\n' "${@:3}" | diff - out >diff.txt
    verdict $? "$1"
}
near "tests of planted bugs, then those of the folder" src/base/x.c "unit base/test_d" "unit tests/unit/base/test_x.c" \
    "redis test_often" "redis test_rare"
near "first of the same name, or with the header" src/base/e.c "unit tests/unit/base/test_c.c" \
    "unit tests/unit/base/test_a.c" "unit tests/unit/base/test_b.c" "unit tests/unit/base/test_d.c"
near "... or of the first word of it" src/base/x_more.c "unit tests/unit/base/test_x.c" \
    "unit tests/unit/base/test_a.c" "unit tests/unit/base/test_b.c" "unit tests/unit/base/test_c.c"
near "else those of planted bugs of the folder" src/db/other.c "redis test_db"
near "else one" src/command/kv/new.c "redis test_commands_kv"
near "tupledctl's test for tupledctl" src/tool/new.c "redis redis-tests/test_tupledctl"
mkdir redis-tests && touch redis-tests/test_dump.sh
near "the commands' test of the first word of its name" src/tool/dump_file.c "redis redis-tests/test_dump." \
    "redis redis-tests/test_tupledctl"

# ---- all of it, with stubs: b + 1 does not compile, any other change but that of `c` is seen ----

rm -rf tests src && mkdir -p tests/unit/base src/base build
cp -rp "$root/tests/mutants.sh" tests/
mkdir tests/mutants && cp -p "$root"/tests/mutants/*.sh tests/mutants/
cat >src/base/a.c <<'END'
int a = b < c;
int b = 8;
int c = d && e;
END
touch tests/unit/base/test_a.c
cat >Makefile <<'END'
build/asan/tests/unit/base/test_a: FORCE
	@if grep -q 9 src/base/a.c; then echo "error: 9"; exit 1; fi
FORCE:
END
printf '#!/bin/sh\ngrep -q "b < c" src/base/a.c\n' >tests/run.sh
chmod +x tests/run.sh
printf 'mutant one\nfile src/base/a.c\nold b < c\nnew b > c\ntest unit test_a\n' >tests/mutants/a.txt
git init -q . && git add src tests Makefile

mutants() { tests/mutants.sh "$@" >out 2>&1; }
MUTANTS_SEED=1 mutants --random 2
status=$?
[ $status = 1 ] && [ "$(tail -n 1 out | sed 's/, [0-9] broken//')" = "1 caught, 1 survived" ] &&
    grep -qx 'caught    src/base/a.c:1 relation (unit test_a)' out &&
    grep -qx 'SURVIVED  src/base/a.c:3 logic (src/base/a.c)' out && grep -qx 'new int c = d || e;' out
verdict $? "half of them caught is too few"
MUTANTS_SEED=1 mutants -k relation --random 3 && [ "$(tail -n 1 out)" = "1 caught, 0 survived, 0 broken" ]
verdict $? "one of them again, by its name"
MUTANTS_SEED=1 mutants --random 3
grep -qx 'broken    src/base/a.c:2 number: does not compile: error: 9' out &&
    [ "$(tail -n 1 out)" = "1 caught, 1 survived, 1 broken" ]
verdict $? "what does not compile is broken"
mutants && [ "$(tail -n 1 out)" = "1 caught, 0 survived, 0 broken" ]
verdict $? "the planted list, as before"
printf '#!/bin/sh\nexit 1\n' >tests/run.sh
mutants --random 2
[ $? = 1 ] && [ "$(tail -n 1 out)" = "0 caught, 0 survived, 3 broken" ] && grep -q '^left out  unit' out
verdict $? "a test that fails anyway catches nothing"
mutants --random many
[ $? = 2 ] && grep -q Usage out
verdict $? "wrong words"
exit $failed
