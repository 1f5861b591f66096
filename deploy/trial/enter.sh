#!/bin/sh
# Runs inside new namespaces: makes the root of one container, goes there, and becomes its program.
#
#     enter.sh ROOT HOSTNAME IMAGE CONFIG    what to mount stands in CONFIG, a line each: mode from to
set -eu
root=$1 name=$2 image=$3 config=$4
shift 4
mount --make-rprivate /
hostname "$name"
mount -t tmpfs tmpfs "$root"
if [ "$image" = - ]; then
  # No image: this machine's programs, and nothing else of it.
  mkdir "$root/usr" && mount --bind /usr "$root/usr" && mount -o remount,bind,ro "$root/usr"
  for link in bin sbin lib lib64; do ln -s "usr/$link" "$root/$link"; done
  cp -a /etc "$root/etc"
  mkdir -p "$root/var/lib" "$root/home"
  install -d -o 10001 -g 10001 -m 700 "$root/home/perdure" "$root/var/lib/perdure" "$root/workspaces"
  echo 'perdure:x:10001:10001::/home/perdure:/bin/bash' >>"$root/etc/passwd"
  echo 'perdure:x:10001:' >>"$root/etc/group"
else
  mkdir "$root/.upper"
  mount -t tmpfs tmpfs "$root/.upper" && mkdir "$root/.upper/up" "$root/.upper/work" "$root/.upper/root"
  mount -t overlay overlay -o "lowerdir=$image,upperdir=$root/.upper/up,workdir=$root/.upper/work" "$root/.upper/root"
  root=$root/.upper/root
fi
mkdir -p "$root/proc" "$root/dev" "$root/tmp" "$root/run" "$root/.old"
chmod 1777 "$root/tmp"
mount --rbind /dev "$root/dev"
while read -r mode from to; do
  if [ -d "$from" ]; then mkdir -p "$root$to"; else mkdir -p "$root$(dirname "$to")" && : >>"$root$to"; fi
  mount --bind "$from" "$root$to"
  if [ "$mode" = ro ]; then mount -o remount,bind,ro "$root$to"; fi
done <"$config"
cd "$root"
pivot_root . .old
mount -t proc proc /proc
umount -l /.old
exec "$@"
