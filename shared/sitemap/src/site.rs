//! A site's settings: a content record of type `site`, whose id is `site/<host>`.

mod also;
mod parse;
mod robots;
mod settings;
#[cfg(test)]
mod tests;

pub use self::also::{MAX_ALSO, MAX_ALSO_BYTES};
pub use self::parse::SETTINGS;
pub use self::robots::MAX_ROBOTS_BYTES;
pub use self::settings::{
    Also, DEFAULT_ENTRIES, FOREIGN_INDEX_SERIES, INDEX_STEM, INDEXNOW_KEY_CHARS, IndexLastmod,
    Llms, MAX_BYTES, MAX_ENTRIES, MAX_HOST_BYTES, MAX_LLMS_TYPES, MAX_NEWS_ENTRIES,
    MAX_NOT_FOUND_BYTES, MAX_SERIES_BYTES, MAX_TEXT_BYTES, MAX_TYPES, MIN_BYTES, PART_PLACE,
    SITE_ID_PREFIX, SITE_TYPE, SeriesKind, SiteSettings, Stylesheet, TypeSettings, URL_PLACE,
    host_of_site_id, is_indexnow_key, is_series_name, is_settings, is_site_host,
};
