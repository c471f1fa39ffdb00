#!/bin/bash
# A tupled for tests that were written for a directory: with backend postgresql, and what the directory is for the others
# is a schema of its own there. Environment: PG_SOCKET, the directory of PostgreSQL's socket; PG_PSQL, its program;
# PG_REAL, the tupled that is run.
dir='' before=''
for word in "$@"; do
    [ "$before" != --dir ] || dir=$word
    before=$word
done
# One that is started with a backup has the data in its directory.
if [ -z "$dir" ] || [ -f "$dir/tupled.db" ]; then exec "$PG_REAL" "$@"; fi
schema=t$(printf %s "$dir" | md5sum | cut -c1-24)
"$PG_PSQL" -qAtX -h "$PG_SOCKET" -U tupled -d postgres \
    -c "SET client_min_messages = error; CREATE SCHEMA IF NOT EXISTS $schema" >/dev/null 2>&1
exec "$PG_REAL" "$@" --backend postgresql --postgresql-durability provider --lease 600 \
    --postgresql-url "host=$PG_SOCKET user=tupled dbname=postgres options=-csearch_path=$schema"
