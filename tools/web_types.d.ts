// What browsers have and Debian's library of types lacks, for the check of web/ (tools/check.sh).

interface Element {
    checkVisibility(): boolean;
}
