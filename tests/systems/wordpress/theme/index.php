<?php
while (have_posts()) {
    the_post();
    is_singular() ? the_content() : the_title();
}
