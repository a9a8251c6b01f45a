#!/usr/bin/env bash
# Makes an authority (ca.pem) and a certificate of it for localhost (cert.pem, key.pem) in a directory.
#
#   certificate.sh DIR
set -euo pipefail
mkdir --parents "$1"
cd "$1"
new_key=(-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes)
{
    openssl req -x509 "${new_key[@]}" -keyout ca.key -out ca.pem -subj /CN=tests -days 2
    openssl req "${new_key[@]}" -keyout key.pem -out request.pem -subj /CN=localhost
    echo 'subjectAltName=DNS:localhost,IP:127.0.0.1' > extensions
    openssl x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -out cert.pem -days 2 \
        -extfile extensions
} 2> openssl.log || { cat openssl.log >&2; exit 1; }
