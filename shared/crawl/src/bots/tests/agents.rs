//! Agents of bots, and of others.

use crate::bots::OTHERS;

/// Agents as servers logged them, and the bot that each is.
pub(super) const AGENTS: [(&str, &str); 66] = [
    (
        "Mozilla/5.0 (compatible; YandexNews/4.0; +http://yandex.com/bots)",
        OTHERS,
    ),
    ("Gigabot/1.0", OTHERS),
    ("caf\u{e9}bot \u{1f916}", OTHERS),
    ("istellabot-nutch/Nutch-1.10", OTHERS),
    // A name in an address is not the name of who asks.
    (
        "checker/1.0 (+https://example.com/not-a-googlebot.html)",
        OTHERS,
    ),
    (
        "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        "Googlebot",
    ),
    (
        "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.6723.91 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        "Googlebot",
    ),
    ("Googlebot-Image/1.0", "Googlebot-Image"),
    ("Googlebot-Video/1.0", "Googlebot-Video"),
    ("Googlebot-News", "Googlebot-News"),
    (
        "SAMSUNG-SGH-E250/1.0 Profile/MIDP-2.0 Configuration/CLDC-1.1 UP.Browser/6.2.3.3.c.1.101 (GUI) MMP/2.0 (compatible; Googlebot-Mobile/2.1; +http://www.google.com/bot.html)",
        "Googlebot",
    ),
    ("Mozilla/5.0 (compatible; GoogleOther)", "GoogleOther"),
    ("GoogleOther-Image/1.0", "GoogleOther-Image"),
    (
        "Mozilla/5.0 (compatible; Google-InspectionTool/1.0;)",
        "Google-InspectionTool",
    ),
    (
        "AdsBot-Google (+http://www.google.com/adsbot.html)",
        "AdsBot-Google",
    ),
    (
        "Mozilla/5.0 (iPhone; CPU iPhone OS 14_7_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/14.1.2 Mobile/15E148 Safari/604.1 (compatible; AdsBot-Google-Mobile; +http://www.google.com/mobile/adsbot.html)",
        "AdsBot-Google-Mobile",
    ),
    ("Mediapartners-Google", "Mediapartners-Google"),
    (
        "FeedFetcher-Google; (+http://www.google.com/feedfetcher.html)",
        "FeedFetcher-Google",
    ),
    (
        "Feedfetcher-Google; (+http://www.google.com/feedfetcher.html; 1 subscribers; feed-id=728742641706423)",
        "FeedFetcher-Google",
    ),
    (
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/116.0.1938.76 Safari/537.36",
        "bingbot",
    ),
    (
        "Mozilla/5.0 (Windows NT 6.1; WOW64) AppleWebKit/534+ (KHTML, like Gecko) BingPreview/1.0b",
        "BingPreview",
    ),
    (
        "DuckDuckBot/1.1; (+http://duckduckgo.com/duckduckbot.html)",
        "DuckDuckBot",
    ),
    (
        "Mozilla/5.0 (compatible; DuckDuckBot-Https/1.1; https://duckduckgo.com/duckduckbot)",
        "DuckDuckBot",
    ),
    (
        "Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)",
        "YandexBot",
    ),
    (
        "Mozilla/5.0 (compatible; YandexImages/3.0; +http://yandex.com/bots)",
        "YandexImages",
    ),
    (
        "Mozilla/5.0 (compatible; YandexAccessibilityBot/3.0; +http://yandex.com/bots)",
        OTHERS,
    ),
    (
        "Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)",
        "Baiduspider",
    ),
    (
        "Mozilla/5.0 (compatible; Baiduspider-render/2.0; +http://www.baidu.com/search/spider.html)",
        "Baiduspider",
    ),
    (
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.1.1 Safari/605.1.15 (Applebot/0.1; +http://www.apple.com/go/applebot)",
        "Applebot",
    ),
    (
        "Mozilla/5.0 (Linux; Android 7.0;) AppleWebKit/537.36 (KHTML, like Gecko) Mobile Safari/537.36 (compatible; PetalBot;+https://webmaster.petalsearch.com/site/petalbot)",
        "PetalBot",
    ),
    (
        "Mozilla/5.0 (compatible; SeznamBot/4.0; +https://o-seznam.cz/napoveda/vyhledavani/en/seznambot-crawler/)",
        "SeznamBot",
    ),
    (
        "Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help/us/ysearch/slurp)",
        "Yahoo! Slurp",
    ),
    (
        "Sogou web spider/4.0(+http://www.sogou.com/docs/help/webmasters.htm#07)",
        "Sogou spider",
    ),
    (
        "Mozilla/5.0 (Windows NT 6.1) AppleWebKit/537.1 (KHTML, like Gecko) Chrome/21.0.1180.89 Safari/537.1; 360Spider",
        "360Spider",
    ),
    (
        "Mozilla/5.0 (compatible; coccocbot-web/1.0; +http://help.coccoc.com/searchengine)",
        "coccocbot",
    ),
    (
        "Mozilla/5.0 (compatible; MojeekBot/0.11; +https://www.mojeek.com/bot.html)",
        "MojeekBot",
    ),
    (
        "Mozilla/5.0 (compatible; Yeti/1.1; +https://naver.me/spd)",
        "Yeti",
    ),
    (
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
        "GPTBot",
    ),
    (
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; OAI-SearchBot/1.0; +https://openai.com/searchbot",
        "OAI-SearchBot",
    ),
    (
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; ChatGPT-User/1.0; +https://openai.com/bot",
        "ChatGPT-User",
    ),
    (
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ClaudeBot/1.0; +claudebot@anthropic.com)",
        "ClaudeBot",
    ),
    (
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Claude-User/1.0; +Claude-User@anthropic.com)",
        "Claude-User",
    ),
    (
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Claude-SearchBot/1.0; +https://www.anthropic.com)",
        "Claude-SearchBot",
    ),
    (
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; PerplexityBot/1.0; +https://perplexity.ai/perplexitybot)",
        "PerplexityBot",
    ),
    (
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Perplexity-User/1.0; +https://perplexity.ai/perplexity-user)",
        "Perplexity-User",
    ),
    ("CCBot/2.0 (https://commoncrawl.org/faq/)", "CCBot"),
    (
        "Mozilla/5.0 (Linux; Android 5.0) AppleWebKit/537.36 (KHTML, like Gecko) Mobile Safari/537.36 (compatible; Bytespider; spider-feedback@bytedance.com)",
        "Bytespider",
    ),
    (
        "meta-externalagent/1.1 (+https://developers.facebook.com/docs/sharing/webmasters/crawler)",
        "meta-externalagent",
    ),
    (
        "meta-webindexer/1.1 (+https://developers.facebook.com/docs/sharing/webmasters/crawler)",
        "Meta-WebIndexer",
    ),
    (
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Amazonbot/0.1; +https://developer.amazon.com/support/amazonbot) Chrome/119.0.6045.214 Safari/537.36",
        "Amazonbot",
    ),
    (
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Amzn-SearchBot/0.1) Chrome/119.0.6045.214 Safari/537.36",
        "Amzn-SearchBot",
    ),
    (
        "DuckAssistBot/1.2; (+http://duckduckgo.com/duckassistbot.html)",
        "DuckAssistBot",
    ),
    (
        "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
        "facebookexternalhit",
    ),
    // Apple's Messages.
    (
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) Version/9.0.1 Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0",
        "facebookexternalhit",
    ),
    ("Twitterbot/1.0", "Twitterbot"),
    ("TelegramBot (like TwitterBot)", "TelegramBot"),
    (
        "LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)",
        "LinkedInBot",
    ),
    (
        "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
        "Slackbot-LinkExpanding",
    ),
    ("Slackbot 1.0 (+https://api.slack.com/robots)", "Slackbot"),
    ("WhatsApp/2.23.20.0", "WhatsApp"),
    (
        "Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)",
        "Discordbot",
    ),
    (
        "Pinterest/0.2 (+https://www.pinterest.com/bot.html)",
        "Pinterestbot",
    ),
    (
        "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)",
        "AhrefsBot",
    ),
    (
        "Mozilla/5.0 (compatible; SemrushBot/7~bl; +http://www.semrush.com/bot.html)",
        "SemrushBot",
    ),
    (
        "Screaming Frog SEO Spider/20.2",
        "Screaming Frog SEO Spider",
    ),
    (
        "ExampleCrawler/0.1 (+https://example.com/crawler; crawler@example.com)",
        OTHERS,
    ),
];

/// Agents of browsers, applications and programs, which are no bots.
pub(super) const NO_BOTS: [&str; 20] = [
    "",
    "-",
    "Mo",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:132.0) Gecko/20100101 Firefox/132.0",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Safari/605.1.15",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Instagram 320.0.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [Pinterest/iOS]",
    "Mozilla/5.0 (Linux; Android 9; CUBOT_X19) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/101.0.4951.41 Mobile Safari/537.36",
    "Mozilla/5.0 (Linux; Android 11; CUBOT KINGKONG 5 Pro; https://example.com/app) AppleWebKit/537.36 Chrome/101.0 Mobile Safari/537.36",
    "Mozilla/5.0 (Linux; Android 12; CUBOT) AppleWebKit/537.36",
    "notGooglebotX/1.0 (+https://example.com/)",
    "Mozilla/5.0 (X11; Linux x86_64) Googlebots/1.0",
    "curl/8.5.0",
    "python-requests/2.31.0",
    "robotics-app/1.0",
    "Opera/9.80 (Windows NT 6.1; U; en) Presto/2.12.388 Version/12.18",
    "Mozilla/5.0 (compatible; MSIE 9.0; Windows NT 6.1; Trident/5.0)",
    "caf\u{e9}botte \u{1f916}",
    "Cubot_X19/1.0 (Android)",
];
