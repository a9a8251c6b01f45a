# For scripts that test a running server from outside: tools that may be missing, and servers on free ports
# with temporary data, stopped when the script ends. To be sourced, from the root of the repository.

declare -A url data
server_pids=()
scratch=$(mktemp --directory)

stop_servers() {
    local pid
    for pid in "${server_pids[@]}"; do
        kill "$pid" 2> /dev/null || true
    done
    # A server that does not stop in time is a failure of its own, but nothing may be left behind.
    for pid in "${server_pids[@]}"; do
        timeout 15 tail --pid="$pid" --follow /dev/null || { kill -9 "$pid"; echo "server $pid did not stop" >&2; }
    done
    rm --recursive --force "$scratch"
}
trap stop_servers EXIT

# Makes sure that a command is there: require COMMAND DEBIAN-PACKAGE
require() {
    command -v "$1" > /dev/null && return
    install_package "$2" || { echo "$1 is missing: please install it (Debian: $2)" >&2; exit 1; }
}

install_package() {
    [ "$(id --user)" = 0 ] && command -v apt-get > /dev/null || return 1
    echo "installing $1" >&2
    { apt-get update && apt-get install --yes --no-install-recommends "$1"; } > "$scratch/apt.log" 2>&1 \
        || { cat "$scratch/apt.log" >&2; return 1; }
}

# Prints the directory with the programs of the newest PostgreSQL; installs one if there is none.
postgres_programs() {
    newest() { find /usr/lib/postgresql -path '*/bin/initdb' 2> /dev/null | sort --version-sort | tail -1 | xargs --no-run-if-empty dirname; }
    [ -n "$(newest)" ] || install_package postgresql \
        || { echo "PostgreSQL is missing: please install it (Debian: postgresql)" >&2; exit 1; }
    newest
}

# Exports where PostgreSQL is, and pgbouncer if it is there, unless that is said already.
find_postgres() {
    PUNCTUAL_TEST_POSTGRES=${PUNCTUAL_TEST_POSTGRES:-$(postgres_programs)}
    export PUNCTUAL_TEST_POSTGRES
    if [ -z "${PUNCTUAL_TEST_PGBOUNCER:-}" ] && command -v pgbouncer > /dev/null; then
        PUNCTUAL_TEST_PGBOUNCER=$(command -v pgbouncer)
        export PUNCTUAL_TEST_PGBOUNCER
    fi
}

# Makes .tools/NAME a virtual environment with the packages of a requirements file: python_venv NAME FILE
python_venv() {
    local name=$1 requirements=$2 place=.tools/$1
    cmp --silent "$requirements" "$place/requirements.txt" && return
    require python3 python3
    python3 -c 'import ensurepip, venv' 2> /dev/null || install_package python3-venv \
        || { echo "python3 has no venv: please install it (Debian: python3-venv)" >&2; exit 1; }
    echo "installing $name from $requirements" >&2
    rm --recursive --force "$place"
    python3 -m venv "$place"
    "$place/bin/pip" install --quiet --disable-pip-version-check --requirement "$requirements"
    # Last, so that an installation that failed is not taken for one.
    cp "$requirements" "$place/requirements.txt"
}

# Installs what a package-lock.json says into .tools/NAME: node_modules FOLDER [NAME]; it is `node` otherwise
node_modules() {
    local place=.tools/${2:-node}
    cmp --silent "$1/package-lock.json" "$place/installed.json" && return
    echo "installing the packages of $1" >&2
    mkdir --parents "$place"
    cp "$1/package.json" "$1/package-lock.json" "$place"
    npm ci --prefix "$place" --no-audit --no-fund --loglevel=error
    cp "$1/package-lock.json" "$place/installed.json"
}

# PUNCTUAL_BINARY names a binary to test instead of the one built here.
build_server() {
    binary=${PUNCTUAL_BINARY:-${CARGO_TARGET_DIR:-target}/debug/punctual}
    [ -n "${PUNCTUAL_BINARY:-}" ] || cargo build --package punctual --quiet
}

# Starts a server that fires nothing and waits until it is ready: start_server NAME [OPTION...]. Its address
# is ${url[NAME]}, its data ${data[NAME]}.
start_server() {
    local name=$1 log=$scratch/$1.log deadline=$((SECONDS + 30))
    shift
    data[$name]=$scratch/$name
    # The server's shell may open its log after it is read for the first time.
    : > "$log"
    "$binary" serve --listen 127.0.0.1:0 --data "${data[$name]}" --role api "$@" > "$log" 2>&1 &
    local pid=$!
    server_pids+=("$pid")
    while :; do
        url[$name]=$(sed --quiet 's/.* listens on \(https\?:[^,]*\),.*/\1/p' "$log")
        if [ -n "${url[$name]}" ] && curl --silent --insecure --fail --max-time 5 --output /dev/null "${url[$name]}/readyz"; then
            return
        fi
        if ! kill -0 "$pid" 2> /dev/null || [ "$SECONDS" -ge "$deadline" ]; then
            echo "the server did not become ready:" >&2
            cat "$log" >&2
            exit 1
        fi
        sleep 0.05
    done
}
