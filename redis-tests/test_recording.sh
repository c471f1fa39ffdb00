#!/bin/bash
# The recording of a terminal in README.md is what a server says today (tools/recording.py); a recording of something else is
# noticed, and a command that fails ends it.
. "$(dirname "$0")/server.sh"

cp -r tools docs "$scratch/" 2>/dev/null
start_server
check "the recording is what a server says" tools/recording.py "$port" check
stop_server
rm -rf "$scratch/data"
sed -i 's/(integer) 2/(integer) 3/' "$scratch/docs/ui/terminal.svg"
start_server
"$scratch/tools/recording.py" "$port" check >"$scratch/said" 2>&1
same "another reply is noticed" 1 $?
same "... and said" 1 "$(grep -c 'is not what a server says today' "$scratch/said")"
stop_server
rm -rf "$scratch/data"
echo "\$ KV.GET '[1'" >>"$scratch/docs/ui/terminal.txt"
start_server
"$scratch/tools/recording.py" "$port" >"$scratch/said" 2>&1
same "a command that fails ends it" 1 $?
same "... by name" 1 "$(grep -c "recording: KV.GET \[1: (error)" "$scratch/said")"
stop_server
finish
