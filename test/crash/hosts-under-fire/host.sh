#!/bin/sh
# The first process of one host: runs inside its new namespaces, gives it a name and an empty disk,
# and takes in orphans until it is killed. The disk goes with it.
#
#     host.sh NAME
set -eu
hostname "$1"
mount -t tmpfs tmpfs /srv
mkdir -p /srv/work /srv/data /srv/home /srv/tmp
chmod 700 /srv/data
printf '%s' "$1" | md5sum | cut -c1-32 >/srv/machine-id
if [ -e /etc/machine-id ]; then mount --bind /srv/machine-id /etc/machine-id; fi
mount -t proc proc /proc
echo up
sleep infinity &
wait $!
