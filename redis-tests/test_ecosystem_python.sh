#!/bin/bash
# Libraries of PyPI that keep their data in Redis (redis-tests/ecosystem/requirements.txt and
# requirements_few.txt), and the keys that Spring writes: each does its work here, and the server is killed
# with -9 meanwhile.
export HTTP=1 RELEASE=1 # it is the libraries that are tested here
. "$(dirname "$0")/server.sh"
. "$(dirname "$0")/libraries.sh"
. "$(dirname "$0")/connect.sh"

export PYTHONDONTWRITEBYTECODE=1

libraries() { # python, program...
    local python=$1 library
    shift
    start_server
    for library in "$@"; do
        talk 240 "$python" "redis-tests/ecosystem/$library.py" "$port"
    done
    stop_server
}

install_ecosystem_python &&
    libraries "$ecosystem_python" redis_py_lock redis_py_cache django_redis_cache cashews_cache spring_keys \
        channels_layer walrus_containers
install_ecosystem_python_few && libraries "$ecosystem_python_few" scrapy_redis_queues redis_om_models
finish
