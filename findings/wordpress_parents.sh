#!/usr/bin/env bash
# WordPress's own sitemap lists a published page at an address that answers 404, and another at one with `__trashed` in it.
#
# Packages: WordPress 6.5.5 on SQLite, from @wp-playground/wordpress-builds 0.9.19, from npm; php 8 with its modules from Debian.
# Guess:    a page that is published is shown at the address that WordPress gives it, or is not listed: a page above it that is a draft
#           or in the trash hides it, or has no part in it.
# Seen:     an address has the slugs of all pages above. A draft that was never published has none, so the address leaves it out, and
#           then WordPress looks for a page without a parent: 404, in the sitemap and in the REST API. A page in the trash has its slug
#           with `__trashed`, and what is below it stays public, at `/about__trashed/team/`.
# So:       look at what is below a page before it becomes a draft or goes to the trash, and at what answers 404 in the sitemap.
set -euo pipefail
folder=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server"; fi; rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund @wp-playground/wordpress-builds@0.9.19
builds=node_modules/@wp-playground/wordpress-builds/src
python3 -m zipfile -e $builds/wordpress/wp-6.5.zip site
python3 -m zipfile -e $builds/sqlite-database-integration/sqlite-database-integration.zip site/wp-content/plugins
mv site/wp-content/plugins/sqlite-database-integration-main site/wp-content/plugins/sqlite-database-integration
cp site/wp-content/plugins/sqlite-database-integration/db.copy site/wp-content/db.php
cat >site/wp-config.php <<'PHP'
<?php
define('WP_SITEURL', 'http://www.example.com');
define('WP_HOME', WP_SITEURL);
define('DB_NAME', 'site');
define('DB_FILE', 'site.sqlite');
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('DISABLE_WP_CRON', true);
$_SERVER['HTTP_HOST'] = 'www.example.com';
$table_prefix = 'wp_';
defined('ABSPATH') || define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';
PHP
cat >install.php <<'PHP'
<?php
define('WP_INSTALLING', true);
require 'site/wp-load.php';
require ABSPATH . 'wp-admin/includes/upgrade.php';
function wp_new_blog_notification() {}
function wp_install_defaults() {}
wp_install('Example', 'ana', 'ana@example.com', true, '', 'larch');
update_option('permalink_structure', '/%postname%/');
PHP
cat >pages.php <<'PHP'
<?php
require 'site/wp-load.php';
$page = fn($title, $status, $parent) => wp_insert_post(['post_type' => 'page', 'post_title' => $title, 'post_status' => $status, 'post_parent' => $parent]);
$page('Below a draft', 'publish', $page('Plans', 'draft', 0));
$about = $page('About', 'publish', 0);
$page('Team', 'publish', $about);
wp_trash_post($about);
PHP
cat >router.php <<'PHP'
<?php
$_SERVER['SCRIPT_NAME'] = $_SERVER['PHP_SELF'] = '/index.php';
$_SERVER['SCRIPT_FILENAME'] = $_SERVER['DOCUMENT_ROOT'] . '/index.php';
require $_SERVER['SCRIPT_FILENAME'];
PHP
php install.php >log 2>&1 && php pages.php >>log 2>&1 || { cat log; exit 1; }
php -S 127.0.0.1:0 -t site router.php >server 2>&1 &
server=$!
for _ in $(seq 100); do grep -q started server && break || sleep 0.1; done
site=$(grep -o 'http://127.0.0.1:[0-9]*' server)
get() { curl -s --max-time 60 "$@"; }
addresses=$(get "$site/wp-sitemap-posts-page-1.xml" | grep -o '<loc>[^<]*' | sed 's#<loc>http://www.example.com##')
for address in $addresses; do
  echo "listed: $address answers $(get -o /dev/null -w '%{http_code}' "$site$address")"
done | tee seen
echo "in the REST API: $(get "$site/wp-json/wp/v2/pages?slug=below-a-draft" | grep -o '"link":"[^"]*"' | tr -d '\\')" | tee -a seen
cat >expected <<'TEXT'
listed: / answers 200
listed: /below-a-draft/ answers 404
listed: /about__trashed/team/ answers 200
in the REST API: "link":"http://www.example.com/below-a-draft/"
TEXT
diff expected seen || { echo "this has changed" >&2; exit 1; }
