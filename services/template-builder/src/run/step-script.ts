import type { InstructionOf } from '@sandlot/template-build';

/** A script for `/bin/bash -c`; the arguments are its `$1`, `$2` and so on, so that nothing needs quotes. */
export interface Script {
  readonly text: string;
  readonly args: readonly string[];
}

/** Creates the user if it is missing: with a home, bash and no password, and with sudo if asked. Runs as root. */
export function createUserScript({ name, canSudo }: Pick<InstructionOf<'user'>, 'name' | 'canSudo'>): Script {
  const text = `set -e
if ! id -u "$1" >/dev/null 2>&1; then
  if command -v useradd >/dev/null; then useradd -m -s /bin/bash "$1"; else adduser -D -s /bin/bash "$1"; fi
  passwd -d "$1" >/dev/null
fi
if [ "$2" = true ]; then
  mkdir -p /etc/sudoers.d
  echo "$1 ALL=(ALL:ALL) NOPASSWD: ALL" > "/etc/sudoers.d/sandlot-$1"
  chmod 0440 "/etc/sudoers.d/sandlot-$1"
fi`;
  return { text, args: [name, String(canSudo)] };
}

/** Creates the directory with its parents; the new ones belong to the user. Runs as root. */
export function createWorkdirScript(path: string, user: string): Script {
  const text = `set -e
missing=
at="$1"
while [ ! -e "$at" ]; do missing="$at"; at="$(dirname -- "$at")"; done
mkdir -p -- "$1"
if [ -n "$missing" ]; then chown -R "$2:" -- "$missing"; fi`;
  return { text, args: [path, user] };
}

/** What sandboxes need and images may lack, by the package manager of the image. An image that has it all installs nothing. Runs as root. */
export function provisionScript(): Script {
  const text = `set -e
lacking=
for each in bash sudo curl tar ss ps; do command -v "$each" >/dev/null || lacking=yes; done
[ -d /etc/ssl/certs ] || lacking=yes
if [ -n "$lacking" ]; then
  [ -r /etc/os-release ] || { echo "[provision] ERROR: unsupported base image distribution: ID=''" >&2; exit 1; }
  . /etc/os-release
  case "$ID" in
    debian|ubuntu)
      apt-get update
      DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends bash sudo curl tar ca-certificates iproute2 procps
      rm -rf /var/lib/apt/lists/* ;;
    fedora|centos|rocky|almalinux)
      dnf install -y bash sudo curl-minimal tar ca-certificates iproute procps-ng || dnf install -y bash sudo curl tar ca-certificates iproute procps-ng
      dnf clean all ;;
    arch) pacman -Sy --noconfirm bash sudo curl tar ca-certificates iproute2 procps-ng ;;
    alpine) apk add --no-cache bash sudo curl tar ca-certificates iproute2 procps shadow ;;
    *) echo "[provision] ERROR: unsupported base image distribution: ID='$ID'" >&2; exit 1 ;;
  esac
fi`;
  return { text, args: [] };
}
