//! The statuses of posts.

/// Returns a status of WordPress as a record has it, and whether it is one of WordPress's own.
pub(in crate::import) fn status_of(status: &str) -> (&'static str, bool) {
    match status {
        "publish" => ("published", true),
        "draft" | "auto-draft" => ("draft", true),
        "pending" => ("pending", true),
        "future" => ("scheduled", true),
        "private" => ("private", true),
        "trash" => ("trash", true),
        _ => ("draft", false),
    }
}

/// Returns whether posts of a status are drafts of some kind, so that their addresses say nothing of their type.
pub(in crate::import) fn is_unpublished(status: &str) -> bool {
    let (mapped, is_known) = status_of(status);
    is_known && mapped != "published"
}
