<?php
// Installs WordPress, and writes the content of posts.json by WordPress's own functions.
define('WP_INSTALLING', true);
require __DIR__ . '/wp-load.php';
require ABSPATH . 'wp-admin/includes/upgrade.php';

/** Tells nobody: it would be a mail. */
function wp_new_blog_notification() {}

/** Leaves out WordPress's own first posts and texts. */
function wp_install_defaults(int $user): void
{
    wp_insert_term('Food', 'category', ['slug' => 'food']);
    update_option('default_category', get_term_by('slug', 'food', 'category')->term_id);
}

wp_install('The Lantern', 'ana@lantern.example', 'ana@lantern.example', true, '', 'larch');
$options = ['stylesheet' => 'lantern', 'template' => 'lantern'];
foreach ($options + ['timezone_string' => 'Europe/Berlin', 'blogdescription' => 'Our magazine', 'ping_sites' => '', 'posts_per_rss' => 50] as $name => $value) {
    update_option($name, $value);
}
