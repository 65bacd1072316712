<?php
/**
 * Plugin Name: The types of the Lantern
 */

add_action('init', function () {
    $type = fn(string $label, array $more) => $more + ['label' => $label, 'public' => true, 'show_in_rest' => true];
    register_post_type('recipe', $type('Recipes', ['has_archive' => true, 'taxonomies' => ['cuisine', 'post_tag']]));
    register_post_type('guide', $type('Guides', ['hierarchical' => true]));
    // Two that are not public, in the ways that WordPress has.
    register_post_type('order_note', $type('Order notes', ['public' => false]));
    register_post_type('banner', $type('Banners', ['publicly_queryable' => false]));
    register_taxonomy('cuisine', 'recipe', $type('Cuisines', []));
    register_taxonomy('shelf', 'recipe', $type('Shelves', ['public' => false]));
});
// The times of the posts are those that their array has. Whatever is written later has its own.
add_filter('wp_insert_post_data', function (array $data, array $post): array {
    if (isset($post['modified'])) {
        $data['post_modified_gmt'] = $post['modified'];
        $data['post_modified'] = get_date_from_gmt($post['modified']);
    }
    return $data;
}, 10, 2);
