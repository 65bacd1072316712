//! The robots.txt of each site that a page is on or leads to. A page that it disallows is not requested.

use check::robots::Crawler;
use check::url::origin_of;
use futures::FutureExt as _;
use futures::future::BoxFuture;

use crate::check::robots::{Hosts, Known};
use crate::fetch::client::{Allows, Client, Text};

/// Why something may not be asked for.
#[derive(Clone, Debug)]
pub(super) enum Refusal {
    /// robots.txt disallows it for this crawler, by this rule.
    Rule(String, String),
    /// robots.txt cannot be read: why.
    Unknown(String),
}

/// Asks for what robots.txt allows to search engines and to this program.
pub(super) struct Gate<'a> {
    client: &'a Client,
    hosts: &'a Hosts<'a>,
    crawlers: &'static [Crawler],
}

impl<'a> Gate<'a> {
    /// Returns a gate that these crawlers must pass.
    pub(super) fn new(
        client: &'a Client,
        hosts: &'a Hosts<'a>,
        crawlers: &'static [Crawler],
    ) -> Self {
        Self {
            client,
            hosts,
            crawlers,
        }
    }

    /// Returns the search engines' crawlers that must pass.
    pub(super) fn crawlers(&self) -> &'static [Crawler] {
        self.crawlers
    }

    /// Returns what is known of robots.txt of an origin.
    pub(super) async fn known(&self, origin: &str) -> Known {
        self.hosts.of(origin).await
    }

    /// Returns why an address may not be requested. Returns `None` if it may.
    pub(super) async fn refusal(&self, url: &str) -> Option<Refusal> {
        match self.known(origin_of(url)?).await {
            Known::Absent => None,
            Known::Unknown(failure) => Some(Refusal::Unknown(failure)),
            Known::Read { robots, .. } => {
                let engines = robots.shuts_out(url, self.crawlers);
                let refused = engines.or_else(|| robots.shuts_out(url, &[Crawler::Waymark]));
                let (agent, rule) = refused?;
                Some(Refusal::Rule(agent.to_owned(), rule.to_owned()))
            }
        }
    }

    /// Asks for an address that may be asked for, and follows redirects to such alone.
    pub(super) async fn text(&self, url: &str, limit: usize) -> Text {
        self.client.text_if(url, limit, Some(self)).await
    }
}

impl Allows for Gate<'_> {
    fn allows<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<(), String>> {
        async move {
            match self.refusal(url).await {
                None => Ok(()),
                Some(Refusal::Rule(agent, rule)) => Err(format!(
                    "redirects to {url}, which is disallowed for {agent} by {rule}"
                )),
                Some(Refusal::Unknown(failure)) => Err(format!(
                    "redirects to {url}, whose robots.txt cannot be read: {failure}"
                )),
            }
        }
        .boxed()
    }
}
