<?php
// The site as a proxy shows it: by https and its own host, whatever port this machine gave it.
$_SERVER['HTTP_HOST'] = 'www.lantern.example';
$_SERVER['HTTPS'] = 'on';

define('WP_HOME', 'https://www.lantern.example');
define('WP_SITEURL', WP_HOME);
define('DB_NAME', 'lantern');
define('DB_DIR', __DIR__ . '/wp-content/database');
define('DB_FILE', 'lantern.sqlite');
define('WP_POST_REVISIONS', false);
define('DISABLE_WP_CRON', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
// WordPress asks nobody but the local stack.
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('WP_ACCESSIBLE_HOSTS', '127.0.0.1');
foreach (['TABLE', 'REGION', 'KEY', 'SECRET', 'ENDPOINT'] as $name) {
    if (getenv("WAYMARK_$name")) {
        define("WAYMARK_$name", getenv("WAYMARK_$name"));
    }
}
// For `wp waymark`: the two functions of wp-cli that the plugin calls.
if (getenv('AS_CLI')) {
    define('WP_CLI', true);

    class WP_CLI
    {
        static array $commands = [];

        static function add_command(string $name, callable $command): void
        {
            self::$commands[$name] = $command;
        }

        static function line(string $text): void
        {
            echo "$text\n";
        }
    }
}

$table_prefix = 'wp_';
defined('ABSPATH') || define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';
