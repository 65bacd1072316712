//! Reports wrong, missing or unknown namespaces, each once. Elements of a wrong one are checked as if it were right.

use quick_xml::name::ResolveResult;

use crate::document::reader::{Reader, Tally};
use crate::document::schema::{EXTENSIONS, Element, Ns};
use crate::findings::Position;
use crate::rules::Rule;
use crate::text::quoted;

/// The most wrong namespaces of a document that are reported separately. The rest is reported with the last.
const MAX_REPORTED: usize = 64;

/// The wrong namespaces of a document.
#[derive(Debug, Default)]
pub(super) struct Spaces {
    wrong: Vec<Wrong>,
    /// The last one that was found.
    last: usize,
    /// That of the root, which should be that of sitemaps.
    root: Option<Space>,
}

/// The namespace of an element or an attribute that has no known one.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Space {
    None,
    Uri(String),
    Undeclared(String),
}

#[derive(Debug)]
struct Wrong {
    space: Space,
    /// The intended namespace. `None` if it is not known.
    meant: Option<Ns>,
    /// The name of the first element, as it is written.
    name: String,
    tally: Tally,
}

impl Spaces {
    /// Returns the intended namespace of an element whose own is unknown. `parent` is the element around it, if there is one.
    pub(super) fn meant(
        &mut self,
        found: &ResolveResult<'_>,
        name: &str,
        parent: Option<&Element>,
        at: Position,
    ) -> Option<Ns> {
        let space = match found {
            ResolveResult::Unbound => Space::None,
            ResolveResult::Bound(namespace) => Space::Uri(namespace.0.to_owned()),
            ResolveResult::Unknown(prefix) => Space::Undeclared(prefix.clone()),
        };
        let (prefix, local) = name.split_once(':').unwrap_or(("", name));
        let meant = match (parent, &space) {
            (None, _) if !matches!(local, "urlset" | "sitemapindex") => None,
            (None, _) => {
                self.root = Some(space.clone());
                Some(Ns::Sitemap)
            }
            (Some(_), space) if self.root.as_ref() == Some(space) => Some(Ns::Sitemap),
            (Some(parent), _) => {
                let near = match &space {
                    Space::Uri(uri) => Ns::nearly_named(uri),
                    _ => None,
                };
                let is_extension = |ns: Ns| {
                    EXTENSIONS
                        .iter()
                        .any(|one| one.ns == ns && one.name == local)
                };
                let by_prefix =
                    Ns::with_prefix(prefix).filter(|ns| *ns == parent.ns || is_extension(*ns));
                // An element without a namespace, or with an unused prefix, is recognized by its name.
                let by_name = || {
                    let places = match &space {
                        Space::Uri(_) => None,
                        _ => parent.children(),
                    };
                    let place = places?.iter().find(|place| place.name == local)?;
                    Some(place.ns)
                };
                near.or(by_prefix).or_else(by_name)
            }
        };
        let is_undeclared = matches!(space, Space::Undeclared(_));
        self.meet(space, meant, name);
        if is_undeclared || meant.is_some() {
            self.wrong[self.last].tally.add(at);
        }
        meant
    }

    /// Counts the last element as one of an unknown extension.
    pub(super) fn is_foreign(&mut self, at: Position) {
        let wrong = &mut self.wrong[self.last];
        if !matches!(wrong.space, Space::Undeclared(_)) {
            wrong.tally.add(at);
        }
    }

    /// Counts an undeclared prefix.
    pub(super) fn undeclared(&mut self, prefix: &str, name: &str, at: Position) {
        self.meet(Space::Undeclared(prefix.to_owned()), None, name);
        self.wrong[self.last].tally.add(at);
    }

    fn meet(&mut self, space: Space, meant: Option<Ns>, name: &str) {
        let is_it = |one: &Wrong| one.space == space && one.meant == meant;
        self.last = match self.wrong.iter().position(is_it) {
            Some(known) => known,
            None if self.wrong.len() == MAX_REPORTED => MAX_REPORTED - 1,
            None => {
                self.wrong.push(Wrong {
                    space,
                    meant,
                    name: name.to_owned(),
                    tally: Tally::default(),
                });
                self.wrong.len() - 1
            }
        };
    }

    /// Reports each wrong namespace once.
    pub(super) fn report(self, reader: &mut Reader<'_>) {
        for wrong in self.wrong {
            let Tally { count, first } = wrong.tally;
            let times = match count {
                0 => continue,
                1 => String::new(),
                count => format!(" ({count} times)"),
            };
            let name = &wrong.name;
            let not = wrong.meant.map_or_else(String::new, |ns| {
                format!(", not in {}: it was read as if it were", ns.uri())
            });
            let (rule, message) = match (&wrong.space, wrong.meant) {
                (Space::Undeclared(prefix), meant) => {
                    let read = meant.map_or_else(String::new, |ns| {
                        format!(": it was read as if it were {}", ns.uri())
                    });
                    let prefix = quoted(prefix);
                    let message =
                        format!("has the prefix {prefix}, which is not declared{read}{times}");
                    (Rule::FileWellformed, message)
                }
                (space, Some(meant)) => {
                    let is = match space {
                        Space::Uri(uri) => format!("in the namespace {}", quoted(uri)),
                        _ => "in no namespace".to_owned(),
                    };
                    let rule = match meant {
                        Ns::Sitemap => Rule::FileSchema,
                        _ => Rule::ExtForeign,
                    };
                    (rule, format!("<{name}> is {is}{not}{times}"))
                }
                (Space::Uri(uri), None) => {
                    let uri = quoted(uri);
                    let message =
                        format!("<{name}> is of no extension that is known, {uri}{times}");
                    (Rule::ExtForeign, message)
                }
                (_, None) => {
                    let message = format!("<{name}> is of no extension that is known{times}");
                    (Rule::ExtForeign, message)
                }
            };
            reader.found(rule, first, true, || message);
        }
    }
}
