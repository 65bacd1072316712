//! The file `_redirects` of Netlify, <https://docs.netlify.com/manage/routing/redirects/overview>, and of Cloudflare,
//! <https://developers.cloudflare.com/pages/configuration/redirects/>.

use super::address::{Address, moved};
use super::chain::Redirect;
use super::reason::{Lines, Reason};
use super::{Refused, Rendered, Target};

/// The number of redirects from which Netlify advises other means: "10,000 redirects or more" (its overview of redirects).
pub const NETLIFY_ADVISED: usize = 10_000;
/// The most static redirects of Cloudflare's file: "limited to 2,000 static redirects" (Cloudflare Pages, Redirects).
pub const CLOUDFLARE_RULES: usize = 2_000;
/// The most characters of a line there: "a 1,000-character limit".
pub const CLOUDFLARE_LINE: usize = 1_000;

/// Returns Netlify's file. The rules hold even where a file has the path.
pub(super) fn netlify(redirects: &[Redirect]) -> Rendered {
    let lines = Lines::of(redirects, |redirect| line(redirect, "301!"));
    let written = lines.lines.len();
    let advice = (written >= NETLIFY_ADVISED).then(|| {
        format!("Netlify advises against {NETLIFY_ADVISED} redirects and more in a file, and there are {written}")
    });
    Rendered {
        text: lines.text(),
        written,
        left_out: lines.left_out,
        advice,
    }
}

/// Returns Cloudflare's file.
pub(super) fn cloudflare(redirects: &[Redirect]) -> Result<Rendered, Refused> {
    let lines = Lines::of(redirects, |redirect| {
        let line = line(redirect, "301")?;
        match line.len() <= CLOUDFLARE_LINE {
            true => Ok(line),
            false => Err(Reason::LongLine),
        }
    });
    let written = lines.lines.len();
    if written > CLOUDFLARE_RULES {
        return Err(Refused::TooMany {
            target: Target::Cloudflare,
            count: written,
            limit: CLOUDFLARE_RULES,
        });
    }
    Ok(Rendered {
        text: lines.text(),
        written,
        left_out: lines.left_out,
        advice: None,
    })
}

fn line(redirect: &Redirect, status: &str) -> Result<String, Reason> {
    let Address { path, query } = Address::of(&redirect.normal);
    let target = moved(redirect)?;
    if query.is_some() {
        return Err(Reason::Query);
    }
    let mut behind_colons = path.split(':').skip(1);
    if path.contains('*')
        || behind_colons.any(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()))
    {
        return Err(Reason::Pattern);
    }
    Ok(format!("{path} {target} {status}"))
}
