<?php
// Runs the PHP that it is given as one request of an editor: `edit.php CODE`.
require __DIR__ . '/wp-load.php';

eval($argv[1]);
