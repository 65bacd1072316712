//! Who asks: the name in a request's `User-Agent`, and whether its address is one that the operator publishes.
//!
//! The table is data, [dated](Bots::source), and written by `infra/release/bots`. Users may bring newer lists: [`Bots::read`].
//!
//! - A name alone is a claim. Only an address verifies it, and only if the operator publishes addresses.
//! - A name counts where it is a word of its own: `Cubot` telephones are no bots, and neither is `notGooglebot`.
//! - An address that no operator on the internet can have, such as a proxy's `10.0.0.1`, verifies nothing and betrays nobody.

mod agents;
mod ranges;
mod table;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use crate::report;
use agents::Agents;
use ranges::Ranges;
pub use table::{TableError, Text};

/// Days after which a list of addresses is old. That of ChatGPT-User had new ranges after less than three months.
pub const OLD_AFTER_DAYS: u32 = 60;

/// The name of [`Bots::others`].
pub const OTHERS: &str = "other bots";

/// A bot of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BotId(pub(crate) u16);

impl BotId {
    /// Returns the position in [`Bots::all`].
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// What a bot fetches pages for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// The results of a search engine.
    Search,
    /// The answers of an assistant: an index for them, or a page that a user asked about.
    Answer,
    /// The training of models.
    Training,
    /// The preview of a link that somebody shared.
    Preview,
    /// Anything else, such as advertising, archives and other tools.
    Other,
}

impl Purpose {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Answer => "answer",
            Self::Training => "training",
            Self::Preview => "preview",
            Self::Other => "other",
        }
    }
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bot {
    /// Its name.
    pub name: String,
    /// Who runs it. Empty for [`Bots::others`].
    pub operator: String,
    /// What it fetches pages for.
    pub purpose: Purpose,
    /// The date of the addresses that its operator publishes, as `2026-09-02`, or empty if the list does not say it. `None` if the table
    /// has no addresses, so that nobody can be verified.
    pub addresses: Option<String>,
    /// Where the row is from. Empty if nothing is known but the name.
    pub source: String,
}

/// Whether a request is from the bot whose name it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Its address is one that the operator publishes.
    Verified,
    /// The operator publishes addresses, and its address is not one of them.
    Impostor,
    /// The operator publishes no addresses, or the request's address is not known.
    Unverifiable,
}

/// A table of bots.
#[derive(Debug)]
pub struct Bots {
    source: report::Source,
    addresses_date: String,
    bots: Vec<Bot>,
    agents: Agents,
    /// The lists of each bot, as positions in `ranges`.
    lists: Vec<Vec<usize>>,
    ranges: Vec<Ranges>,
}

impl Bots {
    /// Returns the table that Waymark comes with.
    pub fn built_in() -> Self {
        table::built_in().into()
    }

    /// Returns that table with newer lists. There are two kinds of text:
    ///
    /// - `bots.json` has the form of the built-in `table.json`. A bot or list replaces the one of the same name.
    /// - `NAME.json` has the form in which Google and Microsoft publish addresses, such as `googlebot.json`. NAME is that of a
    ///   list of the table. If it is the name or token of a bot instead, these become the bot's addresses.
    ///
    /// # Errors
    ///
    /// With the text's name, the entry and the reason, if a text is not of its form.
    pub fn read(texts: &[Text<'_>]) -> Result<Self, TableError> {
        table::read(texts).map(Self::from)
    }

    /// Returns the name and date of the table. The name says what lists were read in addition.
    pub fn source(&self) -> report::Source {
        self.source.clone()
    }

    /// Returns the date of the oldest list of addresses, as `2026-09-02`. A list without a date counts as old: the date is empty.
    ///
    /// Addresses change. From [`OLD_AFTER_DAYS`] on, requests from new ones may look like those of impostors.
    pub fn addresses_date(&self) -> &str {
        &self.addresses_date
    }

    /// Returns the bot that a `User-Agent` names. `None` for a browser, or if it is not known to be a bot.
    ///
    /// If it has several names, the longest counts, so that `Googlebot-Image` is not `Googlebot`.
    pub fn named(&self, agent: &[u8]) -> Option<BotId> {
        match self.agents.find(agent) {
            Some(bot) => Some(BotId(bot)),
            None => agents::is_like_a_bot(agent).then(|| self.others()),
        }
    }

    /// Returns all rows.
    pub fn ids(&self) -> impl Iterator<Item = BotId> + use<> {
        (0..self.bots.len() as u16).map(BotId)
    }

    /// Returns the bot of a name, in any case.
    pub fn by_name(&self, name: &str) -> Option<BotId> {
        let mut ids = self.ids();
        ids.find(|id| self.bot(*id).name.eq_ignore_ascii_case(name))
    }

    /// Returns the row for all bots that the table does not have. A `User-Agent` is one if a word of it ends in `bot`, `crawl`,
    /// `crawler` or `spider`, and if it also has an address of the web or of mail, or does not begin as those of browsers do.
    pub fn others(&self) -> BotId {
        BotId((self.bots.len() - 1) as u16) // `table` keeps the number of rows below that
    }

    /// Returns a bot of this table.
    pub fn bot(&self, id: BotId) -> &Bot {
        &self.bots[id.index()]
    }

    /// Returns all rows. A bot's position is [`BotId::index`].
    pub fn all(&self) -> &[Bot] {
        &self.bots
    }

    /// Returns whether a request with the bot's name is from the bot.
    pub fn verdict(&self, id: BotId, client: Option<IpAddr>) -> Verdict {
        let lists = &self.lists[id.index()];
        let Some(client) = client.map(|client| client.to_canonical()) else {
            return Verdict::Unverifiable;
        };
        if lists.is_empty() || !ranges::is_of_the_internet(client) {
            Verdict::Unverifiable
        } else if lists.iter().any(|list| self.ranges[*list].contains(client)) {
            Verdict::Verified
        } else {
            Verdict::Impostor
        }
    }
}

impl From<table::Table> for Bots {
    fn from(table: table::Table) -> Self {
        let tokens = table.bots.iter().enumerate().flat_map(|(bot, row)| {
            row.tokens
                .iter()
                .map(move |token| (token.as_str(), bot as u16))
        });
        let agents = Agents::new(tokens);
        let position = |name: &String| table.lists.iter().position(|list| list.name == *name);
        let lists: Vec<Vec<usize>> = table
            .bots
            .iter()
            .map(|row| row.lists.iter().filter_map(position).collect())
            .chain([Vec::new()])
            .collect();
        let bots = table.bots.iter().zip(&lists).map(|(row, lists)| Bot {
            name: row.name.clone(),
            operator: row.operator.clone(),
            purpose: row.purpose,
            addresses: lists
                .iter()
                .map(|list| table.lists[*list].date.clone())
                .min(),
            source: row.source.clone(),
        });
        let others = Bot {
            name: OTHERS.to_owned(),
            operator: String::new(),
            purpose: Purpose::Other,
            addresses: None,
            source: String::new(),
        };
        Self {
            addresses_date: table
                .lists
                .iter()
                .map(|list| list.date.clone())
                .min()
                .unwrap_or_default(),
            source: table.source(),
            bots: bots.chain([others]).collect(),
            agents,
            lists,
            ranges: table
                .lists
                .iter()
                .map(|list| Ranges::new(&list.prefixes))
                .collect(),
        }
    }
}
