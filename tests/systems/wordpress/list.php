<?php
// Prints what `wp post list` does for the command in the page of `waymark import`: wp-cli is in no package registry that has WordPress.
require __DIR__ . '/wp-load.php';

$fields = ['ID', 'post_type', 'post_status', 'post_date_gmt', 'post_modified_gmt', 'post_password', 'post_title'];
$out = fopen('php://output', 'w');
fputcsv($out, [...$fields, 'url'], escape: '');
foreach (get_posts(['post_type' => ['post', 'page', 'recipe', 'guide'], 'post_status' => 'any', 'numberposts' => -1]) as $post) {
    fputcsv($out, [...array_map(fn($field) => $post->$field, $fields), get_permalink($post)], escape: '');
}
