<?php
// Writes the content of posts.json by WordPress's own functions.
require __DIR__ . '/wp-load.php';
require ABSPATH . 'wp-admin/includes/taxonomy.php';

wp_insert_user(['user_login' => 'bo', 'user_pass' => 'larch', 'role' => 'author', 'display_name' => 'Bo & Co.']);
wp_insert_term('Soups', 'category', ['slug' => 'soups', 'parent' => get_term_by('slug', 'food', 'category')->term_id]);
wp_insert_term('Drafts', 'category', ['slug' => 'drafts']);
foreach (['winter' => 'post_tag', '冬' => 'post_tag', 'german' => 'cuisine', 'top' => 'shelf'] as $name => $taxonomy) {
    wp_insert_term($name, $taxonomy);
}
foreach (json_decode(file_get_contents(__DIR__ . '/posts.json'), true) as $posts) {
    foreach ($posts as $post) {
        $date = $post['date'] ?? '2026-03-01 10:20:30';
        $id = wp_insert_post(wp_slash($post + [
            'import_id' => $post['id'], 'post_type' => $post['type'] ?? 'post', 'post_status' => 'publish', 'post_author' => 1,
            'post_date_gmt' => $date, 'post_date' => get_date_from_gmt($date), 'modified' => $date, 'post_content' => 'A text.',
        ]), true);
        if ($id !== $post['id']) {
            throw new Exception("$post[id] was not written: " . (is_wp_error($id) ? $id->get_error_message() : $id));
        }
        foreach ($post['terms'] ?? [] as $taxonomy => $names) {
            wp_set_object_terms($id, array_map(fn($name) => get_term_by('slug', sanitize_title($name), $taxonomy)->term_id, $names), $taxonomy);
        }
        if ($post['trash'] ?? false) {
            wp_trash_post($id);
        }
        if ($post['sticky'] ?? false) {
            stick_post($id);
        }
    }
}
