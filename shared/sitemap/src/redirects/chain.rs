//! Chains of moves, joined to one redirect for each address, and loops.

use std::collections::BTreeMap;

use crate::departures::MAX_HOPS;
use crate::loc::normalized;
use crate::record::Departure;

/// An address from which a page departed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departed {
    /// The address, as the record spells it.
    pub loc: String,
    /// What became of the page.
    pub departure: Departure,
    /// The id of the record that has the address.
    pub record: String,
}

/// The answer for an address, with its chain joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// The address, as the record spells it.
    pub from: String,
    /// Its normal form.
    pub normal: String,
    /// What is answered in the end.
    pub answer: Departure,
    /// The record's own target, if the page moved.
    pub moved_to: Option<String>,
    /// How many moves were followed. 0 for a page that is gone itself.
    pub hops: usize,
    /// Whether the chain goes on behind the answer: it has more than [`MAX_HOPS`] moves.
    pub goes_on: bool,
    /// The id of the record.
    pub record: String,
}

/// Moves that lead back to themselves. None of these pages can be answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The ids of the records that form the loop, in the order of their moves. The last one leads back to the first.
    pub records: Vec<String>,
    /// The ids of the records whose moves lead into the loop.
    pub leading: Vec<String>,
}

/// Departures with their chains joined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Joined {
    /// One for each address that can be answered, in the order of their normal forms.
    pub redirects: Vec<Redirect>,
    /// The loops, each once.
    pub loops: Vec<Loop>,
}

/// Where a departure leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// Nobody has looked.
    Unknown,
    /// It is on the path that is being walked, at this step.
    Walking(usize),
    /// To an answer.
    Answered,
    /// Into the loop with this number.
    Loop(usize),
}

/// Joins the chains of departures of one site. Each address is there once; of two departures with one address the first counts.
#[must_use]
pub fn join(departures: &[Departed]) -> Joined {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for (at, departed) in departures.iter().enumerate() {
        let normal = normalized(&departed.loc).into_owned();
        places.entry(normal).or_insert(at);
    }
    let next: Vec<Option<usize>> = departures
        .iter()
        .map(|departed| match &departed.departure {
            Departure::Gone => None,
            Departure::MovedTo(target) => {
                let address = target.split('#').next().unwrap_or_default();
                places.get(&*normalized(address)).copied()
            }
        })
        .collect();
    let mut joined = Joined::default();
    let mut found = vec![Found::Unknown; departures.len()];
    for at in places.values().copied() {
        look(at, departures, &next, &mut found, &mut joined.loops);
    }
    for (normal, at) in places {
        if found[at] == Found::Answered {
            joined
                .redirects
                .push(redirect(normal, at, departures, &next));
        }
    }
    joined
}

/// Walks from a departure to the first one that is known, and notes on the way back where all of them lead.
fn look(
    from: usize,
    departures: &[Departed],
    next: &[Option<usize>],
    found: &mut [Found],
    loops: &mut Vec<Loop>,
) {
    let mut path = Vec::new();
    let mut here = Some(from);
    let end = loop {
        let Some(at) = here else {
            break Found::Answered;
        };
        match found[at] {
            Found::Unknown => {
                found[at] = Found::Walking(path.len());
                path.push(at);
                here = next[at];
            }
            Found::Walking(step) => {
                let closed = path.split_off(step);
                let name = |at: &usize| departures[*at].record.clone();
                for at in &closed {
                    found[*at] = Found::Loop(loops.len());
                }
                loops.push(Loop {
                    records: closed.iter().map(name).collect(),
                    leading: Vec::new(),
                });
                break Found::Loop(loops.len() - 1);
            }
            known => break known,
        }
    };
    for at in path {
        found[at] = end;
        if let Found::Loop(number) = end {
            loops[number].leading.push(departures[at].record.clone());
        }
    }
}

fn redirect(
    normal: String,
    from: usize,
    departures: &[Departed],
    next: &[Option<usize>],
) -> Redirect {
    let Departed {
        loc,
        departure,
        record,
    } = &departures[from];
    let (mut at, mut hops) = (from, 0);
    let mut answer = departure;
    while let Departure::MovedTo(_) = answer {
        hops += 1;
        let Some(further) = next[at].filter(|_| hops < MAX_HOPS) else {
            break;
        };
        (at, answer) = (further, &departures[further].departure);
    }
    let is_moved = |departure: &Departure| matches!(departure, Departure::MovedTo(_));
    Redirect {
        from: loc.clone(),
        normal,
        answer: answer.clone(),
        moved_to: match departure {
            Departure::MovedTo(target) => Some(target.clone()),
            Departure::Gone => None,
        },
        hops,
        goes_on: is_moved(answer) && next[at].is_some(),
        record: record.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(moves: &[(&str, &str)]) -> Vec<Departed> {
        let url = |path: &str| format!("https://a.example{path}");
        moves
            .iter()
            .map(|(from, to)| Departed {
                loc: url(from),
                departure: match *to {
                    "gone" => Departure::Gone,
                    to if to.starts_with('/') => Departure::MovedTo(url(to)),
                    to => Departure::MovedTo(to.to_owned()),
                },
                record: format!("r{from}"),
            })
            .collect()
    }

    fn shown(joined: &Joined) -> Vec<String> {
        let line = |redirect: &Redirect| {
            let to = match &redirect.answer {
                Departure::MovedTo(to) => to.trim_start_matches("https://a.example"),
                Departure::Gone => "gone",
            };
            let more = if redirect.goes_on { " …" } else { "" };
            format!("{} {to} {}{more}", redirect.record, redirect.hops)
        };
        joined.redirects.iter().map(line).collect()
    }

    #[test]
    fn a_chain_ends_at_its_last_target() {
        let joined = join(&of(&[
            ("/c", "/d#part"),
            ("/b", "/c#lost"),
            ("/a", "/b"),
            ("/g", "/h"),
            ("/h", "gone"),
            ("/o", "https://other.example/c"),
        ]));
        let expected = [
            "r/a /d#part 3",
            "r/b /d#part 2",
            "r/c /d#part 1",
            "r/g gone 1",
            "r/h gone 0",
            "r/o https://other.example/c 1",
        ];
        assert_eq!(shown(&joined), expected);
        assert!(joined.loops.is_empty());
        assert_eq!(
            joined.redirects[0].moved_to.as_deref(),
            Some("https://a.example/b")
        );
    }

    #[test]
    fn spellings_are_one_address() {
        let joined = join(&of(&[
            ("/a", "https://A.example:443/%7Eb"),
            ("/~b", "/c"),
            ("/%7eb", "/other"),
        ]));
        assert_eq!(shown(&joined), ["r/a /c 2", "r/~b /c 1"]);
    }

    #[test]
    fn at_most_so_many_moves_are_joined() {
        let names: Vec<String> = (0..=MAX_HOPS + 2).map(|n| format!("/{n}")).collect();
        let moves: Vec<(&str, &str)> = names
            .windows(2)
            .map(|two| (two[0].as_str(), two[1].as_str()))
            .collect();
        let joined = join(&of(&moves));
        assert_eq!(shown(&joined)[0], format!("r/0 /{MAX_HOPS} {MAX_HOPS} …"));
        assert_eq!(
            shown(&joined)[2],
            format!("r/2 /{} {MAX_HOPS}", MAX_HOPS + 2)
        );
        // The last of the moves that are followed may lead to a page that is gone.
        let mut gone = moves[..MAX_HOPS].to_vec();
        gone.push((moves[MAX_HOPS].0, "gone"));
        assert_eq!(
            shown(&join(&of(&gone)))[0],
            format!("r/0 /{MAX_HOPS} {MAX_HOPS} …")
        );
        assert_eq!(
            shown(&join(&of(&gone)))[1],
            format!("r/1 gone {}", MAX_HOPS - 1)
        );
    }

    #[test]
    fn loops_are_apart_with_what_leads_into_them() {
        let joined = join(&of(&[
            ("/a", "/b"),
            ("/b", "/c"),
            ("/c", "/b#x"),
            ("/z", "/a"),
            ("/s", "/s?q"),
            ("/s?q", "/s"),
            ("/ok", "/new"),
        ]));
        assert_eq!(shown(&joined), ["r/ok /new 1"]);
        let records = |texts: &[&str]| -> Vec<String> {
            texts.iter().map(|text| format!("r/{text}")).collect()
        };
        let expected = [
            Loop {
                records: records(&["b", "c"]),
                leading: records(&["a", "z"]),
            },
            Loop {
                records: records(&["s", "s?q"]),
                leading: Vec::new(),
            },
        ];
        assert_eq!(joined.loops, expected);
    }
}
