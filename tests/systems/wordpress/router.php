<?php
// What a server's rewrite rules do for WordPress: what is no file is index.php's.
$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH) ?: '/';
if (is_file($_SERVER['DOCUMENT_ROOT'] . $path)) {
    return false;
}
$_SERVER['SCRIPT_NAME'] = $_SERVER['PHP_SELF'] = '/index.php';
$_SERVER['SCRIPT_FILENAME'] = $_SERVER['DOCUMENT_ROOT'] . '/index.php';
unset($_SERVER['PATH_INFO']);
if (str_starts_with($path, '/index.php/')) {
    $_SERVER['PATH_INFO'] = rawurldecode(substr($path, strlen('/index.php')));
    $_SERVER['PHP_SELF'] = '/index.php' . $_SERVER['PATH_INFO'];
}
require $_SERVER['SCRIPT_FILENAME'];
