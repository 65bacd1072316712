//! The names in a `User-Agent`.
//!
//! Nearly all agents are browsers', and are looked through once: where a word begins, its first three letters are looked up in a small
//! table. Of a browser's words only `AppleWebKit` begins as a bot's name does.

use memchr::{memchr, memchr_iter, memmem};

/// Letters that are looked up. No token is shorter.
pub(super) const HEAD: usize = 3;

/// The table's size. Some 200 tokens leave nearly all of it empty.
const BUCKETS: usize = 1 << 12;

/// Words that end so are bots, says who wrote the agent. An `s` may follow, as in `https://example.com/bots`.
const ENDINGS: [&[u8]; 4] = [b"bot", b"crawl", b"crawler", b"spider"];

/// How the agents of browsers begin, and those of many bots.
const BROWSER: &[u8] = b"Mozilla/";

/// Telephones whose names end so. Their browsers' agents may have an address of the web, too.
const NO_BOTS: [&[u8]; 1] = [b"cubot"];

/// All tokens, by how they begin.
#[derive(Debug)]
pub(super) struct Agents {
    /// By the hash of the first letters, the position in `lists`. The first list is empty.
    buckets: Box<[u8; BUCKETS]>,
    lists: Vec<Vec<Token>>,
}

#[derive(Debug)]
struct Token {
    /// In lower case.
    text: Box<[u8]>,
    bot: u16,
}

impl Agents {
    /// Returns the tokens of bots. Each has at least [`HEAD`] bytes.
    pub(super) fn new<'t>(tokens: impl Iterator<Item = (&'t str, u16)>) -> Self {
        let mut this = Self {
            buckets: Box::new([0; BUCKETS]),
            lists: vec![Vec::new()],
        };
        for (token, bot) in tokens {
            let text: Box<[u8]> = token
                .bytes()
                .map(|byte| byte.to_ascii_lowercase())
                .collect();
            let bucket = &mut this.buckets[bucket_of(text[0], text[1], text[2])];
            if *bucket == 0 && this.lists.len() <= usize::from(u8::MAX) {
                *bucket = this.lists.len() as u8; // which the line above makes sure of
                this.lists.push(Vec::new());
            } else if *bucket == 0 {
                *bucket = u8::MAX; // a table of very many tokens: they share a list
            }
            this.lists[usize::from(*bucket)].push(Token { text, bot });
        }
        this
    }

    /// Returns the bot of the longest token, or of the first of equally long ones.
    pub(super) fn find(&self, agent: &[u8]) -> Option<u16> {
        let mut longest: Option<&Token> = None;
        let mut before = b' ';
        for (at, heads) in agent.windows(HEAD).enumerate() {
            let is_begin = !IS_INNER[usize::from(before)] && IS_WORD[usize::from(heads[0])];
            before = heads[0];
            if !is_begin {
                continue;
            }
            let bucket = self.buckets[bucket_of(heads[0], heads[1], heads[2])];
            if bucket == 0 {
                continue;
            }
            for token in &self.lists[usize::from(bucket)] {
                if longest.is_none_or(|longest| longest.text.len() < token.text.len())
                    && begins_with(&agent[at..], &token.text)
                {
                    longest = Some(token);
                }
            }
        }
        longest.map(|token| token.bot)
    }
}

/// Returns the bucket of three bytes. `|` makes capitals small and leaves digits as they are; other bytes may share a bucket.
fn bucket_of(first: u8, second: u8, third: u8) -> usize {
    let head =
        u32::from(first | 0x20) | u32::from(second | 0x20) << 8 | u32::from(third | 0x20) << 16;
    (head.wrapping_mul(0x9e37_79b1) >> (32 - BUCKETS.trailing_zeros())) as usize
}

/// Returns whether a text begins with a token, and the token's last word ends there.
fn begins_with(text: &[u8], token: &[u8]) -> bool {
    text.len() >= token.len()
        && text[..token.len()].eq_ignore_ascii_case(token)
        && (!is_word(token[token.len() - 1])
            || text.get(token.len()).is_none_or(|next| !is_word(*next)))
}

/// Returns whether an agent that no token is in says that it is a bot.
pub(super) fn is_like_a_bot(agent: &[u8]) -> bool {
    (!agent.starts_with(BROWSER) || has_address(agent))
        && agent.split(|byte| !is_word(*byte)).any(is_bots_word)
}

fn is_bots_word(word: &[u8]) -> bool {
    let is_one =
        |word: &[u8], names: &[&[u8]]| names.iter().any(|name| word.eq_ignore_ascii_case(name));
    let one = word.strip_suffix(b"s").unwrap_or(word);
    !is_one(one, &NO_BOTS)
        && ENDINGS.iter().any(|ending| {
            one.len() >= ending.len()
                && one[one.len() - ending.len()..].eq_ignore_ascii_case(ending)
        })
}

/// Returns whether there is an address of the web or of mail in an agent. Of browsers' agents hardly one has it.
fn has_address(agent: &[u8]) -> bool {
    memchr_iter(b':', agent).any(|at| agent[at..].starts_with(b"://"))
        || memchr(b'@', agent).is_some()
        || memmem::find(agent, b"www.").is_some()
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80
}

/// Whether a byte is part of a word.
static IS_WORD: [bool; 256] = {
    let mut is = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        is[byte] = is_word(byte as u8);
        byte += 1;
    }
    is
};

/// Whether no name begins after a byte: it is part of a word, or of an address such as `https://example.com/about-googlebot`.
static IS_INNER: [bool; 256] = {
    let mut is = IS_WORD;
    let parts = b"/.@-_";
    let mut part = 0;
    while part < parts.len() {
        is[parts[part] as usize] = true;
        part += 1;
    }
    is
};
