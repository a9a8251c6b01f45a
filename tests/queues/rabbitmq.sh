#!/usr/bin/env bash
# Runs a RabbitMQ with AMQP 1.0 in the foreground, in a directory of its own, beside any other one. On the
# second port it speaks TLS, with the certificate that certificate.sh has put into a directory.
#
#   rabbitmq.sh DIR PORT TLS_PORT DISTRIBUTION_PORT EPMD_PORT CERTIFICATE_DIR
set -euo pipefail
dir=$1 port=$2 tls=$3 distribution=$4 epmd=$5 certificate=$6

mkdir --parents "$dir/home" "$dir/data" "$dir/log"
echo '[rabbitmq_amqp1_0].' > "$dir/plugins"
cat > "$dir/rabbitmq.conf" <<CONFIG
listeners.tcp.default = 127.0.0.1:$port
listeners.ssl.default = 127.0.0.1:$tls
ssl_options.cacertfile = $certificate/ca.pem
ssl_options.certfile = $certificate/cert.pem
ssl_options.keyfile = $certificate/key.pem
ssl_options.verify = verify_none
ssl_options.fail_if_no_peer_cert = false
log.console = false
log.file.level = warning
CONFIG

# Files of a user of its own, a name server of its own: nothing is shared, nothing stays behind.
export HOME="$dir/home"
export ERL_EPMD_PORT=$epmd ERL_EPMD_ADDRESS=127.0.0.1
export RABBITMQ_NODENAME="queues$port@localhost"
export RABBITMQ_NODE_IP_ADDRESS=127.0.0.1 RABBITMQ_NODE_PORT=$port RABBITMQ_DIST_PORT=$distribution
export RABBITMQ_CONFIG_FILE="$dir/rabbitmq.conf" RABBITMQ_ENABLED_PLUGINS_FILE="$dir/plugins"
export RABBITMQ_MNESIA_BASE="$dir/data" RABBITMQ_LOG_BASE="$dir/log"
export RABBITMQ_PID_FILE="$dir/pid"

server=
stop() {
    [ -n "$server" ] && kill "$server" 2> /dev/null || true
    wait 2> /dev/null || true
    epmd -port "$epmd" -kill > /dev/null 2>&1 || true
}
trap stop EXIT
trap 'exit 0' TERM INT
# Debian's own starter changes the user and knows one directory only.
/usr/lib/rabbitmq/bin/rabbitmq-server > "$dir/output" 2>&1 &
server=$!
wait "$server"
