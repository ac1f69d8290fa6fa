#!/bin/sh
# Installs Chromium for these tests from Debian's packages, unless it is installed already or permission is missing.
for name in ${ELFAIR_CHROMIUM:+"$ELFAIR_CHROMIUM"} chromium chromium-browser google-chrome; do
    command -v "$name" >/dev/null && exit 0
done

missing() {
    echo "No Chromium ($1): tests/browser will be skipped. On Debian: apt-get install chromium" >&2
    exit 1
}

command -v apt-get >/dev/null || missing "and no apt-get to install it"
if [ "$(id -u)" = 0 ]; then
    root=
elif sudo -n true 2>/dev/null; then
    root="sudo -n"
else
    missing "and no right to install it"
fi

install() {
    $root apt-get update -qq >/dev/null &&
        $root env DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends \
            -o DPkg::Lock::Timeout=120 chromium >/dev/null
}

echo "Installing Chromium for tests/browser" >&2
install || { sleep 5 && install; } || missing "apt-get could not install it"
