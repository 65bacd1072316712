#!/bin/sh
# Writes what crawlers did to pages of their own, each week. For cron:
#
#     15 6 * * 1  /opt/waymark/weekly.sh https://www.example.com/ '/var/log/nginx/access.log*' /var/www/reports
#
# All of the log's files are read, also those that were packed and renamed: what is in two of them counts once.
set -eu
if [ $# -ne 3 ]; then
    echo "usage: weekly.sh SITE LOGS FOLDER" >&2
    exit 2
fi
site=$1 logs=$2 folder=$3
page=$folder/crawlers-$(date -u +%Y-%m-%d).html
status=0
# cron mails what is printed. 1: fewer pages were fetched than the gate asks for, or a log was damaged.
waymark crawl "$logs" --sitemaps "$site" --html "$page" --fail-under 80% || status=$?
[ "$status" -ne 2 ] && cp "$page" "$folder/crawlers.html"
exit "$status"
