#!/bin/bash
# Libraries of PyPI that keep their data in Redis (redis-tests/ecosystem/requirements.txt), and the
# keys that Spring writes: each does its work here, and the server is killed with -9 meanwhile.
export HTTP=1 RELEASE=1 # it is the libraries that are tested here
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/libraries.sh"
. "$(dirname "$0")/connect.sh"

install_ecosystem_python || finish

start_server
export PYTHONDONTWRITEBYTECODE=1
for library in redis_py_lock redis_py_cache django_redis_cache cashews_cache spring_keys; do
    talk 60 "$ecosystem_python" "redis-tests/ecosystem/$library.py" "$port"
done
stop_server
finish
