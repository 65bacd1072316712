<?xml version="1.0" encoding="UTF-8"?>
<!-- How a browser shows a sitemap of news, for a site that asks for XSLT. Addresses are http and https alone: the publisher parses each. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
  xmlns:s="http://www.sitemaps.org/schemas/sitemap/0.9"
  xmlns:news="http://www.google.com/schemas/sitemap-news/0.9" exclude-result-prefixes="s news">
  <xsl:output method="html" encoding="UTF-8" doctype-system="about:legacy-compat"/>
  <xsl:template match="/">
    <html lang="en">
      <head>
        <meta name="viewport" content="width=device-width, initial-scale=1"/>
        <meta name="color-scheme" content="light dark"/>
        <title>News</title>
        <link rel="stylesheet" href="/sitemap-view.css"/>
      </head>
      <body>
        <header>
          <p id="place"><a id="up" href="/sitemap_index.xml">All sitemaps</a></p>
          <h1>News</h1>
          <p id="counts">Articles: <xsl:value-of select="count(s:urlset/s:url)"/></p>
        </header>
        <main><xsl:apply-templates/></main>
      </body>
    </html>
  </xsl:template>
  <xsl:template match="s:urlset">
    <table>
      <thead><tr><th class="n">#</th><th class="loc">Article</th><th class="published">Published</th><th class="publication">Publication</th></tr></thead>
      <tbody>
      <xsl:for-each select="s:url">
        <tr>
          <td class="n"><xsl:value-of select="position()"/></td>
          <td class="loc"><a href="{s:loc}"><xsl:value-of select="news:news/news:title"/></a><small><xsl:value-of select="s:loc"/></small></td>
          <td class="published"><xsl:value-of select="translate(substring(news:news/news:publication_date, 1, 16), 'T', ' ')"/></td>
          <td class="publication"><xsl:value-of select="news:news/news:publication/news:name"/><small><xsl:value-of select="news:news/news:publication/news:language"/></small></td>
        </tr>
      </xsl:for-each>
      </tbody>
    </table>
  </xsl:template>
</xsl:stylesheet>
