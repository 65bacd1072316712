<?xml version="1.0" encoding="UTF-8"?>
<!-- How a browser shows a sitemap of videos, for a site that asks for XSLT. Addresses are http and https alone: the publisher parses each. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
  xmlns:s="http://www.sitemaps.org/schemas/sitemap/0.9"
  xmlns:video="http://www.google.com/schemas/sitemap-video/1.1" exclude-result-prefixes="s video">
  <xsl:output method="html" encoding="UTF-8" doctype-system="about:legacy-compat"/>
  <xsl:template match="/">
    <html lang="en">
      <head>
        <meta name="viewport" content="width=device-width, initial-scale=1"/>
        <meta name="color-scheme" content="light dark"/>
        <title>Videos</title>
        <link rel="stylesheet" href="/sitemap-view.css"/>
      </head>
      <body>
        <header>
          <p id="place"><a id="up" href="/sitemap_index.xml">All sitemaps</a></p>
          <h1>Videos</h1>
          <p id="counts">URLs: <xsl:value-of select="count(s:urlset/s:url)"/>, videos: <xsl:value-of select="count(s:urlset/s:url/video:video)"/></p>
        </header>
        <main><xsl:apply-templates/></main>
      </body>
    </html>
  </xsl:template>
  <xsl:template match="s:urlset">
    <table>
      <thead><tr><th class="n">#</th><th class="loc">Page and videos</th><th class="lastmod">Last change</th></tr></thead>
      <tbody>
      <xsl:for-each select="s:url">
        <tr>
          <td class="n"><xsl:value-of select="position()"/></td>
          <td class="loc">
            <a href="{s:loc}"><xsl:value-of select="s:loc"/></a>
            <xsl:for-each select="video:video">
              <p class="video">
                <a href="{(video:player_loc | video:content_loc)[last()]}"><xsl:value-of select="video:title"/></a>
                <xsl:if test="video:duration">
                  <small><xsl:value-of select="floor(video:duration div 60)"/>:<xsl:value-of select="format-number(video:duration mod 60, '00')"/></small>
                </xsl:if>
                <xsl:if test="video:publication_date"><small><xsl:value-of select="substring(video:publication_date, 1, 10)"/></small></xsl:if>
              </p>
            </xsl:for-each>
          </td>
          <td class="lastmod"><xsl:value-of select="translate(substring(s:lastmod, 1, 16), 'T', ' ')"/></td>
        </tr>
      </xsl:for-each>
      </tbody>
    </table>
  </xsl:template>
</xsl:stylesheet>
