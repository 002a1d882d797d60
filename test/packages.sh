#!/usr/bin/env bash
# Installs the given Debian packages that are missing, all at once. Without apt or root it installs nothing: tests that
# need them are then skipped, but not with CI=true.
set -euo pipefail
missing=()
for package; do
	case $package in
	chromium) command -v chromium chromium-browser google-chrome ;;
	postgresql) command -v initdb || compgen -G '/usr/lib/postgresql/*/bin/initdb' ;;
	python3-scrapy) command -v scrapy ;;
	python3-*) /usr/bin/python3 -c "import ${package#python3-}" 2>/dev/null && echo found ;;
	*) command -v "$package" ;;
	esac >/dev/null || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ] && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}" >/dev/null
fi
