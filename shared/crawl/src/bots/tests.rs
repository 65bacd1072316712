mod agents;

use std::net::IpAddr;

use super::*;
use agents::{AGENTS, NO_BOTS};

fn name(bots: &Bots, agent: impl AsRef<[u8]>) -> Option<&str> {
    bots.named(agent.as_ref())
        .map(|id| bots.bot(id).name.as_str())
}

fn verdict(bots: &Bots, bot: &str, client: &str) -> Verdict {
    let id = bots.named(bot.as_bytes()).expect(bot);
    bots.verdict(
        id,
        (!client.is_empty()).then(|| client.parse::<IpAddr>().expect(client)),
    )
}

fn text<'t>(name: &'t str, text: &'t str) -> Text<'t> {
    Text { name, text }
}

#[test]
fn bots_are_known_by_their_agents() {
    let bots = Bots::built_in();
    for (agent, bot) in AGENTS {
        assert_eq!(name(&bots, agent), Some(bot), "{agent}");
    }
    for agent in NO_BOTS {
        assert_eq!(name(&bots, agent), None, "{agent}");
    }
    assert_eq!(
        name(&bots, b"\xff\xfe Googlebot/2.1\xff"),
        Some("Googlebot"),
        "bytes that are no UTF-8"
    );
}

#[test]
fn each_token_is_found_in_any_case() {
    let table = table::built_in();
    let bots = Bots::built_in();
    for row in &table.bots {
        for token in &row.tokens {
            for agent in [
                token.clone(),
                token.to_uppercase(),
                token.to_lowercase(),
                format!("Mozilla/5.0 (compatible; {token}/1.0)"),
                format!("{token}; a"),
            ] {
                assert_eq!(name(&bots, &agent), Some(row.name.as_str()), "{agent}");
            }
        }
    }
}

#[test]
fn table_has_what_people_ask_for_and_no_token_that_no_request_carries() {
    let bots = Bots::built_in();
    let purpose = |agent: &str| bots.bot(bots.named(agent.as_bytes()).expect(agent)).purpose;
    for (agent, expected) in [
        ("Googlebot", Purpose::Search),
        ("bingbot", Purpose::Search),
        ("Applebot", Purpose::Search),
        ("GPTBot", Purpose::Training),
        ("ClaudeBot", Purpose::Training),
        ("CCBot", Purpose::Training),
        ("Bytespider", Purpose::Training),
        ("meta-externalagent", Purpose::Training),
        ("OAI-SearchBot", Purpose::Answer),
        ("Claude-User", Purpose::Answer),
        ("Amazonbot", Purpose::Answer),
        ("GoogleOther", Purpose::Other),
        ("AhrefsBot", Purpose::Other),
        ("Twitterbot", Purpose::Preview),
        ("Slackbot", Purpose::Preview),
    ] {
        assert_eq!(purpose(agent), expected, "{agent}");
    }
    for agent in ["Google-Extended", "Applebot-Extended"] {
        assert!(bots.all().iter().all(|bot| bot.name != agent), "{agent}");
    }
    let mut names: Vec<_> = bots
        .all()
        .iter()
        .map(|bot| bot.name.to_lowercase())
        .collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), bots.all().len(), "names are unique");
}

#[test]
fn addresses_verify_a_claim() {
    let bots = Bots::built_in();
    for (bot, client, expected) in [
        ("Googlebot", "66.249.66.1", Verdict::Verified),
        ("Googlebot-Image", "66.249.66.1", Verdict::Verified),
        ("Googlebot", "::ffff:66.249.66.1", Verdict::Verified), // RFC 4291's form of an IPv4 address
        ("Googlebot", "2001:4860:4801:10::1", Verdict::Verified),
        ("GoogleOther", "66.249.66.1", Verdict::Verified), // one of two lists
        ("Googlebot", "192.0.2.1", Verdict::Impostor),
        ("Googlebot", "2001:db8::1", Verdict::Impostor),
        ("GPTBot", "66.249.66.1", Verdict::Impostor),
        ("GPTBot", "2001:4860:4801:10::1", Verdict::Impostor), // its list has no IPv6
        ("ClaudeBot", "66.249.66.1", Verdict::Unverifiable),
        ("Googlebot", "", Verdict::Unverifiable),
        (
            "Examplebot +https://example.com",
            "66.249.66.1",
            Verdict::Unverifiable,
        ),
        // The site's own network.
        ("Googlebot", "10.0.0.1", Verdict::Unverifiable),
        ("Googlebot", "100.64.0.1", Verdict::Unverifiable),
        ("Googlebot", "100.128.0.1", Verdict::Impostor),
        ("Googlebot", "127.0.0.1", Verdict::Unverifiable),
        ("Googlebot", "::1", Verdict::Unverifiable),
        ("Googlebot", "fd00::1", Verdict::Unverifiable),
        ("Googlebot", "::ffff:10.0.0.1", Verdict::Unverifiable),
    ] {
        assert_eq!(verdict(&bots, bot, client), expected, "{bot} from {client}");
    }
}

#[test]
fn source_has_its_dates() {
    let bots = Bots::built_in();
    let source = bots.source();
    assert_eq!((source.date.len(), bots.addresses_date().len()), (10, 10));
    assert!(
        source
            .name
            .ends_with(&format!("addresses of {}", bots.addresses_date())),
        "{source:?}"
    );
    let date = |agent: &[u8]| {
        bots.bot(bots.named(agent).expect("a bot"))
            .addresses
            .clone()
    };
    assert_eq!(
        (date(b"Googlebot").is_some(), date(b"ClaudeBot")),
        (true, None)
    );
}

#[test]
fn newer_lists_replace_those_of_their_name() {
    let google = r#"{"creationTime": "2026-11-20T22:00:00.000000", "prefixes": [{"ipv4Prefix": "192.0.2.0/28"}, {"ipv6Prefix": "2001:db8::/64"}]}"#;
    for name in ["googlebot.json", "common-crawlers.json"] {
        let bots = Bots::read(&[text(name, google)]).expect("a list");
        assert_eq!(verdict(&bots, "Googlebot", "192.0.2.15"), Verdict::Verified);
        assert_eq!(verdict(&bots, "Googlebot", "192.0.2.16"), Verdict::Impostor);
        assert_eq!(
            verdict(&bots, "Googlebot", "2001:db8::1"),
            Verdict::Verified
        );
        assert_eq!(
            verdict(&bots, "Googlebot", "66.249.66.1"),
            Verdict::Impostor
        );
        assert!(
            bots.source().name.ends_with(&format!("or newer ({name})")),
            "{:?}",
            bots.source()
        );
        assert_eq!(
            bots.bot(bots.named(b"Googlebot").expect("it"))
                .addresses
                .as_deref(),
            Some("2026-11-20")
        );
    }
    // A bot whose operator published none before.
    let bots = Bots::read(&[text(
        "claudebot.json",
        r#"{"prefixes": [{"ipv4Prefix": "192.0.2.7"}]}"#,
    )])
    .expect("a list");
    assert_eq!(verdict(&bots, "ClaudeBot", "192.0.2.7"), Verdict::Verified);
    assert_eq!(verdict(&bots, "ClaudeBot", "192.0.2.8"), Verdict::Impostor);
    assert_eq!(bots.addresses_date(), "", "it has no date");
}

#[test]
fn newer_rows_replace_those_of_their_name() {
    let rows = r#"{"date": "2027-01-02", "bots": [
        {"name": "GPTBot", "tokens": ["GPTBot", "GPT-Crawler"], "operator": "OpenAI", "purpose": "search", "lists": ["mine"]},
        {"name": "Example", "tokens": ["examplething"], "purpose": "preview"}
    ], "lists": [{"name": "mine", "date": "2027-01-01", "prefixes": ["198.51.100.0/24"]}]}"#;
    let published = r#"{"prefixes": [{"ipv4Prefix": "203.0.113.0/24"}]}"#;
    let bots =
        Bots::read(&[text("example.json", published), text("bots.json", rows)]).expect("a table");
    assert_eq!(name(&bots, "gpt-crawler/1"), Some("GPTBot"));
    assert_eq!(name(&bots, "ExampleThing/1"), Some("Example"));
    assert_eq!(
        verdict(&bots, "gpt-crawler/1", "198.51.100.255"),
        Verdict::Verified
    );
    assert_eq!(
        verdict(&bots, "ExampleThing/1", "203.0.113.9"),
        Verdict::Verified
    );
    assert_eq!(
        name(&bots, "Googlebot"),
        Some("Googlebot"),
        "the others stay"
    );
    assert_eq!(
        bots.bot(bots.named(b"GPTBot").expect("it")).purpose,
        Purpose::Search
    );
    assert_eq!(bots.source().date, "2027-01-02");
    assert_eq!(bots.all().last().map(|bot| bot.name.as_str()), Some(OTHERS));
}

#[test]
fn bad_lists_are_errors_with_text_entry_and_reason() {
    let own = |bots: &str| format!(r#"{{"date": "2027-01-02", "bots": [{bots}]}}"#);
    let lists = |lists: &str| format!(r#"{{"date": "2027-01-02", "lists": [{lists}]}}"#);
    for (file, content, expected) in [
        (
            "googlebot.json",
            "{".to_owned(),
            "googlebot.json: EOF while parsing an object at line 1 column 1",
        ),
        (
            "googlebot.json",
            r#"{"ranges": []}"#.to_owned(),
            "googlebot.json: missing field `prefixes`",
        ),
        (
            "googlebot.json",
            r#"{"prefixes": []}"#.to_owned(),
            "googlebot.json: prefixes: has no prefixes",
        ),
        (
            "googlebot.json",
            r#"{"prefixes": [{"ip": "192.0.2.1"}]}"#.to_owned(),
            "googlebot.json: prefixes[0]: has neither ipv4Prefix nor ipv6Prefix",
        ),
        (
            "googlebot.json",
            r#"{"prefixes": [{"ipv4Prefix": "192.0.2.0/24"}, {"ipv4Prefix": "192.0.2.0/33"}]}"#
                .to_owned(),
            "googlebot.json: prefixes[1]: `192.0.2.0/33` has a length that is not one from 0 to 32",
        ),
        (
            "googlebot.json",
            r#"{"prefixes": [{"ipv4Prefix": "192.0.2.1/24"}]}"#.to_owned(),
            "googlebot.json: prefixes[0]: `192.0.2.1/24` has bits after its prefix",
        ),
        (
            "googlebot.json",
            r#"{"prefixes": [{"ipv4Prefix": "bot.example"}]}"#.to_owned(),
            "googlebot.json: prefixes[0]: `bot.example` is not an IP address with a length of its prefix, as 192.0.2.0/24",
        ),
        (
            "nobody.json",
            r#"{"prefixes": [{"ipv4Prefix": "192.0.2.0/24"}]}"#.to_owned(),
            "nobody.json: no bot and no list has the name `nobody`; the lists are applebot, bingbot, ccbot, chatgpt-user, crawler-ip-ranges, duckduckbot, \
             googlebot, gptbot, perplexity-user, perplexitybot, searchbot, special-crawlers, user-triggered-agents, user-triggered-fetchers, \
             user-triggered-fetchers-google",
        ),
        ("bots.json", "[]".to_owned(), "bots.json: is not an object"),
        (
            "bots.json",
            r#"{"date": "today"}"#.to_owned(),
            "bots.json: date: the date `today` is not of the form 2026-09-02",
        ),
        (
            "bots.json",
            own(r#"{"name": "A", "tokens": [], "purpose": "search"}"#),
            "bots.json: bots `A`: has no tokens",
        ),
        (
            "bots.json",
            own(r#"{"name": "A", "tokens": ["ab"], "purpose": "search"}"#),
            "bots.json: bots `A`: the token `ab` has to begin with 3 letters, digits, `-`, `.` or `_`, the first of them a letter or digit",
        ),
        (
            "bots.json",
            own(r#"{"name": "A", "tokens": ["abc"], "purpose": "fun"}"#),
            "bots.json: bots `A`: unknown variant `fun`, expected one of `search`, `answer`, `training`, `preview`, `other`",
        ),
        (
            "bots.json",
            own(r#"{"tokens": ["abc"]}"#),
            "bots.json: bots[0]: missing field `name`",
        ),
        (
            "bots.json",
            own(r#"{"name": "A", "tokens": ["abc"], "purpose": "other", "lists": ["b"]}"#),
            "bots.json: bots `A`: no list has the name `b`",
        ),
        (
            "bots.json",
            lists(
                r#"{"name": "a", "date": "2027-01-01", "prefixes": ["2001:db8::/32", "::/129"]}"#,
            ),
            "bots.json: lists `a`.prefixes[1]: `::/129` has a length that is not one from 0 to 128",
        ),
        (
            "bots.json",
            lists(r#"{"name": "a", "date": "2027-01-01", "prefixes": []}"#),
            "bots.json: lists `a`: has no prefixes",
        ),
    ] {
        let error = Bots::read(&[text(file, &content)]).expect_err(&content);
        assert_eq!(error.to_string(), expected);
    }
}
