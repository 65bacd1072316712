<?php
// Prints the export of the whole site, as "Tools, Export" does.
require __DIR__ . '/wp-load.php';
require ABSPATH . 'wp-admin/includes/export.php';

export_wp();
