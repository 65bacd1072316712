<?php
// The functions of WordPress that examples/wordpress/waymark.php calls, over posts in a file. Each does what WordPress's
// documentation says, as far as the plugin can tell. Then the code that the test gives runs as one request, to its shutdown.

[, $plugin, $database, $code] = $argv;
define('ABSPATH', '/');
define('MINUTE_IN_SECONDS', 60);
define('OBJECT', 'OBJECT');
define('WP_CLI', getenv('AS_CLI') === '1');
foreach (['TABLE', 'REGION', 'KEY', 'SECRET', 'ENDPOINT'] as $name) {
    define("WAYMARK_$name", getenv("WAYMARK_$name"));
}
set_error_handler(function ($level, $text, $file, $line) {
    throw new ErrorException($text, 0, $level, $file, $line);
});

// -- Posts: read from the file once and kept, as WordPress's cache does, until the cache is cleaned.

$cache = [];
$actions = [];
$scheduled = [];

function posts(): array {
    return is_file($GLOBALS['database']) ? json_decode(file_get_contents($GLOBALS['database']), true) : [];
}

function store(int $id, ?array $post): void {
    file_put_contents($GLOBALS['database'], json_encode([$id => $post] + posts()));
}

/** What wp_insert_post and wp_update_post do. */
function save_post(int $id, array $fields): void {
    $before = posts()[$id] ?? ['post_type' => 'post', 'post_status' => 'publish', 'post_password' => '', 'post_title' => "Post $id",
        'post_date_gmt' => '2026-11-01 08:00:00', 'path' => "/post-$id/", 'terms' => [], 'meta' => [], 'image' => null, 'post_author' => 1,
        'post_parent' => 0, 'post_name' => "post-$id"];
    store($id, $fields + ['ID' => $id, 'post_modified_gmt' => gmdate('Y-m-d H:i:s')] + $before);
    clean_post_cache($id);
    do_action('wp_after_insert_post', $id, get_post($id), true, new WP_Post($before));
}

/** What wp_delete_post does. */
function delete_post(int $id): void {
    $post = get_post($id);
    do_action('before_delete_post', $id, $post);
    foreach (posts() as $child) {
        if ($child && $child['post_parent'] === $id) {
            store($child['ID'], ['post_parent' => $post->post_parent] + $child); // by SQL: no hook is called
        }
    }
    store($id, null);
    clean_post_cache($id);
    do_action('deleted_post', $id, $post);
}

function clean_post_cache(int $id): void {
    unset($GLOBALS['cache'][$id]);
}

#[AllowDynamicProperties]
class WP_Post {
    function __construct(array $fields) {
        foreach ($fields as $name => $value) {
            $this->$name = $value;
        }
    }
}

function get_post($id): ?WP_Post {
    if (is_object($id)) {
        return $id;
    }
    $GLOBALS['cache'][$id] ??= posts()[$id] ?? null;
    return isset($GLOBALS['cache'][$id]) ? new WP_Post($GLOBALS['cache'][$id]) : null;
}

function get_posts(array $query): array {
    $found = array_filter(posts(), fn($post) => $post && in_array($post['post_type'], (array) $query['post_type'], true)
        && in_array($post['post_status'], $query['post_status'], true)
        && in_array($post['post_parent'], $query['post_parent__in'] ?? [$post['post_parent']], true));
    return array_keys($found);
}

function get_post_types(): array {
    return ['post' => 'post', 'page' => 'page', 'attachment' => 'attachment', 'revision' => 'revision'];
}

function get_post_stati(): array {
    return array_combine($all = ['publish', 'future', 'draft', 'pending', 'private', 'trash', 'auto-draft', 'inherit'], $all);
}

function is_post_type_viewable(string $type): bool {
    return $type !== 'revision';
}

function is_post_type_hierarchical(string $type): bool {
    return $type === 'page';
}

function get_option(string $name) {
    assert($name === 'permalink_structure');
    return '/%postname%/';
}

function get_userdata(int $id): object {
    return (object) ['user_nicename' => "author-$id"];
}

/** The slugs of a page and of what is above it, but for those that have none. */
function get_page_uri(object $page): string {
    $above = $page->post_parent ? get_page_uri(get_post($page->post_parent)) : '';
    return trim("$above/$page->post_name", '/');
}

/** The page with these slugs: of what is above it, none may be without. */
function get_page_by_path(string $path, string $form, string $type): ?object {
    foreach (posts() as $page) {
        for ($slugs = [], $above = $page; $above && $above['post_type'] === $type; $above = posts()[$above['post_parent']] ?? null) {
            array_unshift($slugs, $above['post_name']);
        }
        if ($slugs && implode('/', $slugs) === $path) {
            return get_post($page['ID']);
        }
    }
    return null;
}

function get_permalink(object $post): string {
    $path = $post->post_type === 'page' ? '/wordpress/' . get_page_uri($post) . '/' : $post->path;
    return home_url() . ($post->post_status === 'publish' ? $path : "/?p=$post->ID");
}

function get_object_taxonomies(string $type): array {
    return $type === 'post' ? ['category', 'post_tag'] : [];
}

function wp_get_post_terms(int $id, string $taxonomy, array $options): array {
    assert($options === ['fields' => 'slugs']);
    return get_post($id)->terms[$taxonomy] ?? [];
}

function get_post_meta(int $id, string $name, bool $single) {
    return get_post($id)->meta[$name] ?? '';
}

function get_the_post_thumbnail_url(object $post, string $size) {
    return $post->image ?? false;
}

// -- The rest.

function home_url(): string {
    return 'https://www.lantern.example';
}

function wp_parse_url(string $url, int $part) {
    return parse_url($url, $part);
}

function wp_strip_all_tags(string $text): string {
    return trim(strip_tags($text));
}

function wp_json_encode($value): string {
    return json_encode($value);
}

function add_action(string $name, callable $action, int $priority = 10, int $arguments = 1): void {
    $GLOBALS['actions'][$name][] = [$action, $arguments];
}

function do_action(string $name, ...$values): void {
    foreach ($GLOBALS['actions'][$name] ?? [] as [$action, $arguments]) {
        $action(...array_slice($values, 0, $arguments));
    }
}

function wp_schedule_single_event(int $time, string $action, array $values): void {
    $GLOBALS['scheduled'][] = [$action, $values];
}

/** What WordPress's cron does a few minutes later. */
function run_scheduled(): void {
    $due = $GLOBALS['scheduled'];
    $GLOBALS['scheduled'] = [];
    foreach ($due as [$action, $values]) {
        do_action($action, ...$values);
    }
}

class WP_Error {
    function get_error_message(): string {
        return 'no answer';
    }
}

function is_wp_error($value): bool {
    return $value instanceof WP_Error;
}

function wp_remote_post(string $url, array $options) {
    // What another request does after the plugin has read a post, and before it has written its record.
    if ($overtaking = $GLOBALS['overtaking'] ?? null) {
        unset($GLOBALS['overtaking']);
        $overtaking();
    }
    $lines = array_map(fn($name, $value) => "$name: $value", array_keys($options['headers']), $options['headers']);
    $http = ['method' => 'POST', 'header' => $lines, 'content' => $options['body'], 'timeout' => $options['timeout'], 'ignore_errors' => true];
    try {
        $body = file_get_contents($url, false, stream_context_create(['http' => $http]));
    } catch (ErrorException) {
        return new WP_Error();
    }
    return ['code' => (int) explode(' ', $http_response_header[0])[1], 'body' => $body];
}

function wp_remote_retrieve_response_code($answer) {
    return is_wp_error($answer) ? '' : $answer['code'];
}

function wp_remote_retrieve_body($answer): string {
    return is_wp_error($answer) ? '' : $answer['body'];
}

class WP_CLI {
    static array $commands = [];

    static function add_command(string $name, callable $command): void {
        self::$commands[$name] = $command;
    }

    static function line(string $text): void {
        echo "$text\n";
    }
}

require $plugin;
eval($code);
do_action('shutdown');
run_scheduled();
