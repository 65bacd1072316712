<?php
/**
 * Plugin Name: Waymark
 * Description: Keeps a record of each page in Waymark's content table.
 *
 * Copy it to wp-content/mu-plugins/. In wp-config.php define WAYMARK_TABLE, WAYMARK_REGION, WAYMARK_KEY and WAYMARK_SECRET.
 */

namespace Waymark;

defined('ABSPATH') || exit;
if (!defined('WAYMARK_TABLE')) {
    return; // such as in a copy of the site
}

/** The id of a post's record: the same as `waymark import` gives it. */
function record_id(int $id, string $type): string {
    return wp_parse_url(home_url(), PHP_URL_HOST) . "/$type/$id";
}

/** The record of a post, or null if it is gone or is no page. */
function record(int $id): ?array {
    $post = get_post($id);
    if (!$post || $post->post_status === 'auto-draft' || !is_viewable($post->post_type)) {
        return null;
    }
    $statuses = ['publish' => 'published', 'future' => 'scheduled', 'private' => 'private', 'pending' => 'pending', 'trash' => 'trash'];
    $status = $statuses[$post->post_status] ?? 'draft';
    $record = [
        'id' => record_id($id, $post->post_type),
        'type' => $post->post_type,
        'url' => get_permalink($post),
        'title' => html_entity_decode(wp_strip_all_tags($post->post_title), ENT_QUOTES | ENT_HTML5, 'UTF-8'),
        'status' => $status === 'published' && is_below_nothing($post) ? 'draft' : $status,
        'visibility' => $post->post_password === '' ? 'public' : 'password',
        'noindex' => get_post_meta($id, '_yoast_wpseo_meta-robots-noindex', true) === '1',
    ];
    foreach (['published_at' => $post->post_date_gmt, 'modified_at' => $post->post_modified_gmt] as $field => $time) {
        if ($time !== '0000-00-00 00:00:00') {
            $record[$field] = str_replace(' ', 'T', $time) . 'Z';
        }
    }
    foreach (get_object_taxonomies($post->post_type) as $taxonomy) {
        $slugs = wp_get_post_terms($id, $taxonomy, ['fields' => 'slugs']);
        if (is_array($slugs) && $slugs) {
            $record['terms'][$taxonomy] = $slugs;
        }
    }
    if ($authors = authors($post, $record['terms']['author'] ?? [])) {
        $record['terms']['author'] = $authors;
    }
    if ($image = get_the_post_thumbnail_url($post, 'full')) {
        $record['images'] = [['url' => $image]];
    }
    return $record;
}

function is_viewable(string $type): bool {
    return $type !== 'attachment' && is_post_type_viewable($type);
}

/**
 * The slugs of a post's authors, whose archives list it, as `waymark import` gives them. No archive lists pages. Co-Authors Plus has the
 * authors as terms.
 */
function authors(\WP_Post $post, array $terms): array {
    if ($post->post_type === 'page') {
        return [];
    }
    if ($terms) {
        return array_map(fn($slug) => preg_replace('/^cap-/', '', $slug), $terms);
    }
    $author = get_userdata((int) $post->post_author);
    return $author ? [$author->user_nicename] : [];
}

/**
 * Whether WordPress answers 404 at a published post's address. It looks for it by the slugs of all that is above it, and a draft that was
 * never published has none. Without permalinks a page is found by its number.
 */
function is_below_nothing(\WP_Post $post): bool {
    if (!$post->post_parent || !is_post_type_hierarchical($post->post_type)) {
        return false;
    }
    if ($post->post_type === 'page' && !get_option('permalink_structure')) {
        return false;
    }
    $found = get_page_by_path(get_page_uri($post), OBJECT, $post->post_type);
    return !$found || $found->ID !== $post->ID;
}

/** Writes what the post is now, and looks again: another request may have changed or deleted it in between. */
function sync(int $id, string $type): void {
    $written = false;
    for ($i = 0; $i < 5; $i++) {
        clean_post_cache($id);
        $wanted = record($id);
        if ($wanted === $written) {
            return;
        }
        $done = $wanted
            ? call('PutItem', ['TableName' => WAYMARK_TABLE, 'Item' => typed($wanted)['M']])
            : call('DeleteItem', ['TableName' => WAYMARK_TABLE, 'Key' => ['id' => ['S' => record_id($id, $type)]]]);
        if (!$done) {
            wp_schedule_single_event(time() + 5 * MINUTE_IN_SECONDS, 'waymark_sync', [$id, $type]);
            return;
        }
        $written = $wanted;
    }
}

/** A value as DynamoDB has it. */
function typed($value): array {
    if (is_bool($value)) {
        return ['BOOL' => $value];
    }
    if (is_array($value)) {
        return [isset($value[0]) ? 'L' : 'M' => array_map(__NAMESPACE__ . '\typed', $value)];
    }
    return ['S' => (string) $value];
}

/** Sends DynamoDB a request with AWS's signature, version 4. Logs a failure. */
function call(string $action, array $request): bool {
    $url = defined('WAYMARK_ENDPOINT') ? WAYMARK_ENDPOINT : 'https://dynamodb.' . WAYMARK_REGION . '.amazonaws.com';
    $body = wp_json_encode($request);
    $now = gmdate('Ymd\THis\Z');
    $scope = [substr($now, 0, 8), WAYMARK_REGION, 'dynamodb', 'aws4_request'];
    $headers = [
        'content-type' => 'application/x-amz-json-1.0',
        'host' => preg_replace('#^https?://#', '', $url),
        'x-amz-date' => $now,
        'x-amz-target' => "DynamoDB_20120810.$action",
    ];
    $signed = implode(';', array_keys($headers));
    $canonical = "POST\n/\n\n";
    foreach ($headers as $name => $value) {
        $canonical .= "$name:$value\n";
    }
    $canonical .= "\n$signed\n" . hash('sha256', $body);
    $key = 'AWS4' . WAYMARK_SECRET;
    foreach ($scope as $part) {
        $key = hash_hmac('sha256', $part, $key, true);
    }
    $scope = implode('/', $scope);
    $signature = hash_hmac('sha256', "AWS4-HMAC-SHA256\n$now\n$scope\n" . hash('sha256', $canonical), $key);
    $headers['authorization'] = 'AWS4-HMAC-SHA256 Credential=' . WAYMARK_KEY . "/$scope, SignedHeaders=$signed, Signature=$signature";
    unset($headers['host']); // WordPress sends it
    $answer = wp_remote_post("$url/", ['headers' => $headers, 'body' => $body, 'timeout' => 5]);
    if (wp_remote_retrieve_response_code($answer) === 200) {
        return true;
    }
    error_log("waymark: $action failed: " . (is_wp_error($answer) ? $answer->get_error_message() : wp_remote_retrieve_body($answer)));
    return false;
}

/** Notes that a post has changed. It is looked at once, at the end of the request, when its terms and fields are saved, too. */
function changed(int $id, string $type): void {
    static $changed = null;
    if (!is_viewable($type)) {
        return;
    }
    if ($changed === null) {
        $changed = new \ArrayObject();
        add_action('shutdown', function () use ($changed) {
            foreach ($changed as $id => $type) {
                sync($id, $type);
            }
        });
    }
    $changed[$id] = $type;
}

/** Notes all that is below a post, too: its slug is in their addresses. */
function all_changed(int $id, string $type): void {
    changed($id, $type);
    $below = [$id];
    $query = ['post_type' => $type, 'post_status' => array_keys(get_post_stati()), 'numberposts' => -1, 'fields' => 'ids'];
    for ($seen = []; $below && is_post_type_hierarchical($type) && is_viewable($type); $seen = array_merge($seen, $below)) {
        $below = array_diff(get_posts(['post_parent__in' => $below] + $query), $seen);
        array_map(fn($id) => changed($id, $type), $below);
    }
}

function saved(int $id, \WP_Post $post, ?\WP_Post $before): void {
    $moved = $before && [$before->post_name, $before->post_parent] !== [$post->post_name, $post->post_parent];
    $moved ? all_changed($id, $post->post_type) : changed($id, $post->post_type);
}

add_action('wp_after_insert_post', fn($id, $post, $update, $before) => saved($id, $post, $before), 10, 4);
add_action('before_delete_post', fn($id, $post) => all_changed($id, $post->post_type), 10, 2); // what is below it moves up
add_action('deleted_post', fn($id, $post) => changed($id, $post->post_type), 10, 2);
add_action('waymark_sync', __NAMESPACE__ . '\sync', 10, 2);

if (defined('WP_CLI') && WP_CLI) {
    // `wp waymark` prints the record of each page, a line each, for `waymark load`.
    \WP_CLI::add_command('waymark', function () {
        $types = array_filter(get_post_types(), __NAMESPACE__ . '\is_viewable');
        $statuses = array_keys(get_post_stati());
        foreach (get_posts(['post_type' => $types, 'post_status' => $statuses, 'numberposts' => -1, 'fields' => 'ids']) as $id) {
            if ($record = record($id)) {
                \WP_CLI::line(wp_json_encode($record));
            }
        }
    });
}
