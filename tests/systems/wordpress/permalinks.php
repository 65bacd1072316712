<?php
// Gives the site a form of permalinks, as "Settings, Permalinks" does: `permalinks.php FORM`. The next request makes the rules.
require __DIR__ . '/wp-load.php';

update_option('permalink_structure', $argv[1]);
delete_option('rewrite_rules');
