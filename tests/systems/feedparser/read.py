import feedparser
import reading

reading.read(lambda url: [entry.link for entry in feedparser.parse(url).entries], "feed.atom")
