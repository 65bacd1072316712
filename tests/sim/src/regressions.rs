//! Histories that once failed, each repeated with the faults of several seeds.
//!
//! The model, the reviews and the generated histories found them.

use crate::cases::run;
use crate::deployment::{Deployment, PLAIN};
use crate::history::{Alternates, DEFAULT, History, MANY_IMAGES, PAGE, Page, Settings, Step};
use crate::history::{Changed::*, Step::*};
use crate::run::Case;

/// The number of worlds in which each history runs.
const TIMES: u64 = 16;

const SMALL: Settings = Settings {
    capacity: 1,
    ..DEFAULT
};
const WIDE: Settings = Settings {
    capacity: 8,
    ..SMALL
};
const PRIVATE: Settings = Settings {
    public: false,
    ..WIDE
};

/// Repeats a history. Its first `loaded` steps are executed before the functions start.
#[track_caller]
fn replay(seed: u64, loaded: usize, steps: &[Step]) {
    replay_in(PLAIN, seed, loaded, steps);
}

/// Repeats a history as [`replay`] does, in another deployment.
#[track_caller]
fn replay_in(deployment: Deployment, seed: u64, loaded: usize, steps: &[Step]) {
    let steps = steps.to_vec();
    let history = History { loaded, steps };
    for world in seed..seed + TIMES {
        let case = Case {
            world,
            deployment,
            history: history.clone(),
            is_filled: false,
        };
        if let Some(violation) = run(&case).violation {
            panic!("in the world of seed {world}: {violation}");
        }
    }
}

fn settings(site: usize, settings: Settings) -> Step {
    Site(site, Some(settings))
}

fn on(site: usize) -> Page {
    Page { site, ..PAGE }
}

/// Tests that the scan's token is not a counter, which would begin again with each pass.
#[test]
fn regression_short_scans_one_after_the_other_do_not_end_each_other() {
    let again = [settings(0, SMALL), settings(0, WIDE), settings(1, SMALL)];
    let again = again.into_iter().chain([Site(1, None)]);
    let steps: Vec<_> = [Put(0, PAGE), Put(1, on(1))]
        .into_iter()
        .chain(std::iter::repeat_n(again, 4).flatten())
        .collect();
    replay(1, 2, &steps);
}

/// Tests the first page of a site whose settings record changes at the same time.
#[test]
fn regression_a_new_site_begins_with_the_settings_of_now() {
    let first = [settings(2, PRIVATE), Put(0, on(2)), settings(2, WIDE)];
    let then = [Rest, settings(2, PRIVATE), DropTable, settings(2, SMALL)];
    replay(1, 0, &[first.as_slice(), &then].concat());
}

/// Tests a slow run that writes the text between two settings with the same text.
#[test]
fn regression_settings_that_are_changed_back_are_those_published() {
    let to_and_fro = [settings(0, PRIVATE), settings(0, WIDE)];
    let steps: Vec<_> = std::iter::once(Put(0, PAGE))
        .chain(std::iter::repeat_n(to_and_fro, 5).flatten())
        .collect();
    replay(1, 1, &steps);
}

/// Tests a shard that is not touched otherwise after its limit was lowered.
#[test]
fn regression_a_lowered_byte_limit_moves_what_no_longer_fits() {
    let large = Page {
        images: MANY_IMAGES,
        ..PAGE
    };
    let tight = Settings {
        tight: true,
        ..WIDE
    };
    let lowered = [settings(0, WIDE), Flood(8, large), Rest, settings(0, tight)];
    let emptied = [Rest, Clear, Flood(8, PAGE)];
    replay(1, 0, &[lowered.as_slice(), &emptied].concat());
}

/// Tests free slots beyond a lowered capacity, which hid the following ones.
#[test]
fn regression_slots_beyond_a_lowered_capacity_are_not_offered() {
    let filled = [settings(0, WIDE), Flood(25, PAGE), Rest, Clear, Rest];
    let lowered = [settings(0, SMALL), Flood(12, PAGE), Rest, settings(0, WIDE)];
    let again = [Flood(29, PAGE), Rest, settings(0, SMALL)];
    replay(1, 0, &[filled.as_slice(), &lowered, &again].concat());
}

/// Tests an address that many pages wait for. All were offered a slot, and the event of its release may come after it is taken
/// again.
#[test]
fn regression_an_address_goes_from_one_to_the_next() {
    let claims = (0..6).map(|id| Put(id, PAGE));
    let leaves = (0..6).flat_map(|id| [Delete(id), Put(id, PAGE), Delete(id)]);
    let steps: Vec<_> = claims.chain(leaves).collect();
    replay(1, 0, &steps);
}

/// Tests a timer whose record changes when it is due.
#[test]
fn regression_time_passes_over_what_is_edited() {
    let until = |from, until| Page {
        from: Some(from),
        until: Some(until),
        changed: Hour(from + 1),
        ..PAGE
    };
    let steps = [
        Put(0, until(2, 5)),
        Put(1, until(4, 9)),
        Pass(2),
        Put(0, until(3, 6)),
        Pass(2),
        Pass(2),
        Put(1, until(8, 9)),
        Pass(1),
        Rest,
        Pass(1),
        Rest,
        Pass(40),
    ];
    replay(1, 0, &steps);
}

/// Tests losses in a series without a row. Its stamps were raised but it was not published, because its extent was unknown.
#[test]
fn regression_an_object_of_a_series_without_rows_is_made_good() {
    let moved = Page { kind: 1, ..PAGE };
    // Each of the sitemaps, deleted.
    for lost in [0, 3, 6] {
        let steps = [
            Put(0, PAGE),
            Rest,
            Put(0, moved),
            DropTable,
            LoseObject(lost),
        ];
        replay(80, 0, &steps);
    }
}

/// Tests an audit of a page in parts. It read the record once for each part, in one request, which DynamoDB refuses.
#[test]
fn regression_a_page_in_parts_is_audited() {
    let in_parts = Page { parts: 3, ..PAGE };
    replay(1, 0, &[Put(0, in_parts), Rest]);
}

/// Tests the parts of an archive. They were listed without any page, and later together with the archive, although they are
/// paginated archives.
#[test]
fn regression_the_parts_of_an_archive_are_not_listed() {
    let archive = Page {
        archive: Some(0),
        parts: 2,
        ..PAGE
    };
    let member = Page {
        path: 1,
        terms: 1,
        ..PAGE
    };
    let steps = [
        Put(0, archive),
        Rest,
        Put(1, member),
        Rest,
        Put(
            1,
            Page {
                changed: Day(9),
                ..member
            },
        ),
        Rest,
        Delete(1),
    ];
    replay(1, 0, &steps);
}

/// Tests a page that moved and was reconciled by the scan first. Its feed row kept the old address.
#[test]
fn regression_the_feed_names_no_address_that_was_left() {
    let moved = Page { path: 1, ..PAGE };
    let to = |page, to| [settings(0, to), Put(0, page), Rest];
    let again = [to(PAGE, WIDE), to(moved, SMALL)];
    let steps: Vec<_> = std::iter::repeat_n(again.concat(), 3).flatten().collect();
    replay(1, 0, &steps);
}

/// Tests a lost claim and a lost site's row, with a page that moved while its site was loaded anew. Its feed row kept the old
/// address.
#[test]
fn regression_the_feed_names_no_address_of_a_claim_that_was_lost() {
    let deployment = Deployment {
        index_lines: 4,
        splits: true,
        ..PLAIN
    };
    let first = Page {
        kind: 2,
        changed: Day(7),
        images: 2,
        from: Some(31),
        terms: 7,
        titled: true,
        language: Some(1),
        alternates: Alternates::Both,
        ..PAGE
    };
    let second = Page {
        path: 1,
        under: Some(4),
        kind: 3,
        changed: Day(5),
        terms: 2,
        language: Some(2),
        ..PAGE
    };
    let steps = [
        Rest,
        LoseRow(5_628_854_127_071_790_884),
        Put(2, first),
        Delete(2),
        Put(2, first),
        Rest,
        Rest,
        Pass(30),
        Put(0, second),
        LoseRow(11_387_646_528_973_512_361),
        Rest,
        Put(1, first),
        Put(1, second),
        Pass(2),
        // The site's row, and the claim.
        LoseRow(265_299_265_682_061_751),
        LoseRow(13_385_696_463_450_279_940),
        Put(2, second),
        Put(0, first),
    ];
    replay_in(deployment, 7_717_202_249_716_844_900, 0, &steps);
}

/// Tests a run that cleared a page's parts. It removed parts from the ledger that another run had listed again meanwhile.
#[test]
fn regression_parts_come_and_go() {
    let crowd = |parts| Flood(20, Page { parts, ..PAGE });
    let to_and_fro = [crowd(2), Clear, crowd(2), crowd(1)];
    let steps: Vec<_> = std::iter::repeat_n(to_and_fro, 4).flatten().collect();
    replay(1, 0, &steps);
}

/// Tests a first sweep after the end of a page of an unknown site. It looked back only an hour.
#[test]
fn regression_what_was_due_before_the_first_sweep_is_done() {
    let ending = Page {
        until: Some(48),
        ..on(2)
    };
    replay(1, 0, &[Put(0, ending), Pass(58)]);
}

/// A new title is in no sitemap. Only the publishing of a sitemap marked the site for its notices.
#[test]
fn regression_search_engines_are_told_of_what_no_sitemap_shows() {
    let deployment = Deployment {
        endpoint: true,
        ..PLAIN
    };
    for feed in [true, false] {
        let told = Settings {
            told: true,
            feed,
            ..WIDE
        };
        let titled = Page {
            titled: !PAGE.titled,
            ..PAGE
        };
        let steps = [settings(0, told), Put(0, PAGE), Rest, Wait(600)];
        let steps = [steps.as_slice(), &[Put(0, titled)]].concat();
        replay_in(deployment, 1, 0, &steps);
    }
}
