<?xml version="1.0" encoding="UTF-8"?>
<!-- How a browser shows an index or a sitemap of pages, for a site that asks for XSLT. Addresses are http and https alone: the publisher parses each. -->
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
  xmlns:s="http://www.sitemaps.org/schemas/sitemap/0.9"
  xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"
  xmlns:xhtml="http://www.w3.org/1999/xhtml" exclude-result-prefixes="s image xhtml">
  <xsl:output method="html" encoding="UTF-8" doctype-system="about:legacy-compat"/>
  <xsl:template match="/">
    <html lang="en">
      <head>
        <meta name="viewport" content="width=device-width, initial-scale=1"/>
        <meta name="color-scheme" content="light dark"/>
        <title>Sitemap</title>
        <link rel="stylesheet" href="/sitemap-view.css"/>
      </head>
      <body>
        <header>
          <xsl:if test="s:urlset"><p id="place"><a id="up" href="/sitemap_index.xml">All sitemaps</a></p></xsl:if>
          <h1><xsl:choose><xsl:when test="s:urlset">Sitemap</xsl:when><xsl:otherwise>Sitemap index</xsl:otherwise></xsl:choose></h1>
          <p id="counts">
            <xsl:choose>
              <xsl:when test="s:urlset">URLs: <xsl:value-of select="count(s:urlset/s:url)"/>, images: <xsl:value-of select="count(s:urlset/s:url/image:image)"/></xsl:when>
              <xsl:otherwise>Sitemaps: <xsl:value-of select="count(s:sitemapindex/s:sitemap)"/></xsl:otherwise>
            </xsl:choose>
          </p>
        </header>
        <main><xsl:apply-templates/></main>
      </body>
    </html>
  </xsl:template>
  <xsl:template match="s:sitemapindex">
    <table>
      <thead><tr><th class="n">#</th><th class="loc">Sitemap</th><th class="lastmod">Last change</th></tr></thead>
      <tbody>
      <xsl:for-each select="s:sitemap">
        <tr>
          <td class="n"><xsl:value-of select="position()"/></td>
          <td class="loc"><a href="{s:loc}"><xsl:value-of select="s:loc"/></a></td>
          <td class="lastmod"><xsl:value-of select="translate(substring(s:lastmod, 1, 16), 'T', ' ')"/></td>
        </tr>
      </xsl:for-each>
      </tbody>
    </table>
  </xsl:template>
  <xsl:template match="s:urlset">
    <table>
      <thead><tr><th class="n">#</th><th class="loc">Page</th><th class="lastmod">Last change</th><th class="images">Images</th><th class="languages">Languages</th><th class="changefreq">Changes</th><th class="priority">Priority</th></tr></thead>
      <tbody>
      <xsl:for-each select="s:url">
        <tr>
          <td class="n"><xsl:value-of select="position()"/></td>
          <td class="loc"><a href="{s:loc}"><xsl:value-of select="s:loc"/></a></td>
          <td class="lastmod"><xsl:value-of select="translate(substring(s:lastmod, 1, 16), 'T', ' ')"/></td>
          <td class="images" data-label="Images"><xsl:if test="image:image"><xsl:value-of select="count(image:image)"/></xsl:if></td>
          <td class="languages"><xsl:for-each select="xhtml:link"><a class="language" href="{@href}"><xsl:value-of select="@hreflang"/></a></xsl:for-each></td>
          <td class="changefreq" data-label="Changes"><xsl:value-of select="s:changefreq"/></td>
          <td class="priority" data-label="Priority"><xsl:value-of select="s:priority"/></td>
        </tr>
      </xsl:for-each>
      </tbody>
    </table>
  </xsl:template>
</xsl:stylesheet>
